# Git locks a worktree until all its files are there. Without a `.git` of its own, git would find the repository around it.
is_whole() {
  [ -d "$tree" ] && prefix="$(inside rev-parse --show-prefix 2> /dev/null)" && [ -z "$prefix" ] &&
    lock="$(inside rev-parse --git-path locked)" && [ ! -e "$lock" ]
}
is_whole || { discard; git worktree add -q -f -f -B "$branch" "$tree" HEAD; }
printf '%s\n' "$tree"
