# The commit that the checkout moves to. It is noted before the move: after a crash, a resumed run can tell by it whether the
# move was made, even if the branch is gone.
note="$tree.merge"
back() { inside merge --abort 2> /dev/null || :; inside checkout -q -f "$branch"; }
tip() { git for-each-ref --format='%(objectname)' "refs/heads/$branch"; }
is_merged() {
  [ -s "$note" ] || return 1
  merged="$(cat "$note")"
  [ -z "$1" ] || git merge-base --is-ancestor "$1" "$merged" 2> /dev/null || return 1
  git merge-base --is-ancestor "$merged" HEAD 2> /dev/null ||
    [ -n "$(git for-each-ref --count=1 --contains "$merged" refs/heads 2> /dev/null)" ]
}
end() {
  discard
  work="$(tip)"
  [ -z "$work" ] || git branch -q -D "$branch"
  exit 0
}
# Git's lock of the index, with our name and both commits of the move in it. So a lock that a crash left is known to be ours, and
# the move can be undone. Git itself works on copies of the index: its own locks lie beside those.
cd "$(git rev-parse --show-toplevel)"
index="$(git rev-parse --git-path index)"
lock="$index.lock"
owner="escrow $ESCROW_RUN PLAY"
is_locked_by_us() { [ -f "$lock" ] && head -n 1 "$lock" | grep -q -x -F "$owner"; }
clear() { rm -f "$index".escrow-*; }
unlock() { clear; rm -f "$lock"; }
settle() { if git merge-base --is-ancestor "$merged" HEAD; then unlock; else undo; fi; }
move() {
  for state in MERGE_HEAD CHERRY_PICK_HEAD REVERT_HEAD; do
    if git rev-parse -q --verify "$state" > /dev/null; then echo "$state: finish what is under way first" >&2; return 1; fi
  done
  if ! printf '%s\n' "$owner" "$onto" "$merged" > "$index.escrow-lock"; then clear; return 1; fi
  if ! ln "$index.escrow-lock" "$lock"; then
    echo "another git command is at work" >&2
    clear
    return 1
  fi
  if ! cp "$index" "$index.escrow-before" || ! cp "$index" "$index.escrow-next"; then unlock; return 1; fi
  GIT_INDEX_FILE="$index.escrow-next" git update-index -q --refresh > /dev/null || :
  # What it refuses it refuses before it writes: after that a failure, such as a full disk or a kill, has written a part.
  if ! GIT_INDEX_FILE="$index.escrow-next" git read-tree -n -m -u "$onto" "$merged"; then unlock; return 1; fi
  if ! GIT_INDEX_FILE="$index.escrow-next" git read-tree -m -u "$onto" "$merged"; then undo; return 1; fi
  if ! mv "$index.escrow-next" "$index"; then undo; return 1; fi
  if ! git update-ref -m "Merge PLAY" HEAD "$merged" "$onto"; then settle; return 1; fi
  unlock
}
# Takes back what a move has written. Of the files that differ between the commits, those are its own that have the new content or
# a beginning of it, or that are gone; all others are left alone.
undo() {
  [ ! -s "$index.escrow-before" ] || mv "$index.escrow-before" "$index"
  GIT_INDEX_FILE="$index.escrow-onto" git read-tree "$onto"
  git diff-tree -r -z --no-renames --name-only "$onto" "$merged" |
    GIT_INDEX_FILE="$index.escrow-onto" onto="$onto" merged="$merged" xargs -0 sh -c '
      for path; do
        if [ -L "$path" ]; then
          [ "$(readlink "$path")" = "$(git cat-file blob "$merged:$path" 2> /dev/null)" ] || continue
        elif [ -f "$path" ]; then
          size="$(wc -c < "$path")"
          git cat-file --filters "$merged:$path" 2> /dev/null | head -c "$size" | cmp -s - "$path" || continue
        elif [ -e "$path" ]; then
          continue
        fi
        if git cat-file -e "$onto:$path" 2> /dev/null; then
          git checkout-index -q -f -- "$path"
        else
          rm -f -- "$path"
          rmdir -p -- "$(dirname -- "$path")" 2> /dev/null || :
        fi
      done' sh
  unlock
  git update-index -q --refresh > /dev/null || :
}
if is_locked_by_us; then
  onto="$(sed -n 2p "$lock")"
  merged="$(sed -n 3p "$lock")"
  settle
fi
# Half a worktree is left by a crash while it was removed, or while it was made again from the branch.
is_half=
if [ -d "$tree" ] && [ ! -e "$tree/.git" ]; then
  work="$(tip)"
  if is_merged "$work"; then end; fi
  git worktree repair > /dev/null 2>&1 || :
  if [ ! -e "$tree/.git" ]; then
    echo "$tree is no worktree any more, and its files are not merged" >&2
    exit 1
  fi
fi
if [ -d "$tree" ]; then
  own="$(inside rev-parse --git-dir)"
  rm -f "$own"/*.lock
  if [ -e "$own/locked" ]; then is_half=yes; fi
fi
if [ -d "$tree" ] && [ -z "$is_half" ]; then
  [ "$(inside symbolic-ref -q HEAD)" = "refs/heads/$branch" ] || back
  inside add -A -- . ':!.escrow'
  inside diff --cached --quiet || inside commit -q -m "PLAY"
fi
work="$(tip)"
if is_merged "$work"; then end; fi
if [ -z "$work" ]; then
  echo "the branch $branch is gone, and nothing says that it was merged" >&2
  exit 1
fi
if [ ! -d "$tree" ] || [ -n "$is_half" ]; then
  discard
  git worktree add -q -f -f "$tree" "$branch"
fi
for attempt in 1 2 3 4 5; do
  onto="$(git rev-parse HEAD)"
  inside checkout -q -f --detach "$onto"
  inside merge -q --no-ff -m "Merge PLAY" "$branch" || { back; exit 1; }
  merged="$(inside rev-parse HEAD)"
  back
  printf '%s\n' "$merged" > "$note"
  if move; then end; fi
  # Somebody else has committed meanwhile: once more, onto that.
  [ "$(git rev-parse HEAD)" != "$onto" ] || exit 1
done
exit 1
