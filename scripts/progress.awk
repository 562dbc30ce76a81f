# Reads what `go build -v` prints and says now and then how far it is: go names each module
# that it fetches and each package that it compiles. All else, such as an error, passes.
/^go: downloading / { if (!(++modules % 50)) { print modules " modules fetched"; fflush() } next }
/^[A-Za-z0-9._\/~-]+$/ { if (!(++packages % 200)) { print packages " packages compiled"; fflush() } next }
{ print; fflush() }
