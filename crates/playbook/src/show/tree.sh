branch="escrow/$ESCROW_RUN/PLAY"
tree="$(git rev-parse --show-toplevel)/.escrow/worktrees/$ESCROW_RUN/PLAY"
inside() { git -C "$tree" -c gc.auto=0 -c maintenance.auto=false "$@"; }
discard() {
  git worktree remove -f -f "$tree" 2> /dev/null && return
  rm -rf "$tree"
  git worktree remove -f -f "$tree" 2> /dev/null || :
}
