# fish completion of `git ward` and `git-ward`. It belongs into vendor_conf.d, not among the
# completions: fish reads those of git for `git ward`, and never this file.
function __git_ward_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l at (contains -i -- ward $words); or set at 1
    for line in (git-ward complete -- $words[(math $at + 1)..] 2>/dev/null)
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
complete -c git -f -n '__fish_git_using_command ward' -a '(__git_ward_complete)'
