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
  if git -c merge.autoStash=false -c gc.auto=0 -c maintenance.auto=false merge -q --ff-only "$merged"; then end; fi
  # Somebody else has committed meanwhile: once more, onto that.
  [ "$(git rev-parse HEAD)" != "$onto" ] || exit 1
done
exit 1
