# fish completion of `git-ward`; fish's own completion of git asks it for `git ward`.
function __git_ward_complete
    set -l words (commandline -opc) (commandline -ct)
    for line in (git-ward complete -- $words[2..] 2>/dev/null)
        switch $line
            case :file
                __fish_complete_path (commandline -ct)
            case :dir
                __fish_complete_directories (commandline -ct)
            case '*'
                echo $line
        end
    end
end

complete -c git-ward -f -a '(__git_ward_complete)'
