# Git that is ended in the middle leaves its locks. So this script and what it starts end by themselves, also when Escrow is gone.
trap '' TERM
branch="escrow/$ESCROW_RUN/PLAY"
tree="$(git rev-parse --show-toplevel)/.escrow/worktrees/$ESCROW_RUN/PLAY"
inside() { git -C "$tree" -c gc.auto=0 -c maintenance.auto=false "$@"; }
discard() {
  git worktree remove -f -f "$tree" 2> /dev/null && return
  rm -rf "$tree"
  git worktree remove -f -f "$tree" 2> /dev/null || :
}
# Left by a git that was killed all the same. No other process works on this branch.
rm -f "$(git rev-parse --git-path "refs/heads/$branch.lock")"
