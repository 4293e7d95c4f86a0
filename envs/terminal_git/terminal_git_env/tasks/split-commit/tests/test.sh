set -e
git clone -q --bare --no-local "$WORK" "$TMPDIR/copy"
cd "$TMPDIR/copy"
echo "two commits stand where the one was"
test "$(git rev-parse main~2)" = "$(cat "$SECRET/base")"
test "$(git rev-list --count "$(cat "$SECRET/base")..main")" = 2
echo "each changes its file, and says so"
set -- $(for file in $TASK_FILES; do echo "$file"; done | LC_ALL=C sort)
test "$(git diff-tree --no-commit-id -r --name-only main~1)" = "$1"
test "$(git diff-tree --no-commit-id -r --name-only main)" = "$2"
test "$(git log -2 --format=%s main)" = "Change $2
Change $1"
echo "the files are the same"
test "$(git rev-parse main^{tree})" = "$(cat "$SECRET/tree")"
