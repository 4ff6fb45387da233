# Commits the board in $BOARD, which was made from the commit that is checked out, and pushes it to main.
#
# Whoever pushed records in between has pushed a board as well, and two boards cannot be merged. Records can: each has a
# file of its own. So then they alone are pushed, and the next run makes the board of all.
set -euo pipefail
if [ -n "$(find "$BOARD" -type l)" ]; then echo "a link among the files" >&2; exit 1; fi
git config user.name "hideseek board"
git config user.email "board@users.noreply.github.com"
quietly=(git -c core.hooksPath=/dev/null)

# take NAME...: these files as the board has them
take() {
  for made in "$@"; do
    [ -e "$BOARD/leaderboards/$made" ] || continue
    rm -rf "leaderboards/$made"
    cp -r --no-dereference "$BOARD/leaderboards/$made" "leaderboards/$made"
  done
}

built=$(git rev-parse HEAD)
take records boards pictures site board.json leaderboard.md
cp --no-dereference "$BOARD/README.md" README.md
git add leaderboards README.md
if git diff --cached --quiet; then exit 0; fi
"${quietly[@]}" commit -qm "Board: records of ${GITHUB_SHA:-this run}"
mine=$(git rev-parse HEAD)
if "${quietly[@]}" pull --rebase origin main && "${quietly[@]}" push origin HEAD:main; then exit 0; fi

git rebase --abort || true
for _ in 1 2 3; do
  git fetch origin main
  git checkout --detach FETCH_HEAD
  # Those that are new or other than they were where the board was made; what others did to the rest stays.
  git diff --name-only -z --diff-filter=AM "$built" "$mine" -- leaderboards/records | xargs -0r git checkout "$mine" --
  if git diff --cached --quiet; then exit 0; fi
  "${quietly[@]}" commit -qm "Records of ${GITHUB_SHA:-this run}; main went on meanwhile, the board follows"
  if "${quietly[@]}" push origin HEAD:main; then exit 0; fi
done
exit 1
