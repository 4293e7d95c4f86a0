set -e
version="$TASK_MAJOR.$TASK_MINOR.0"
git clone -q --bare --no-local "$ORIGIN" "$TMPDIR/copy"
cd "$TMPDIR/copy"
echo "the version is pushed, after the other commit"
test "$(git cat-file blob main:VERSION)" = "$version"
test "$(git rev-parse main^)" = "$(cat "$SECRET/theirs")"
echo "the tag is annotated, says what it should and is at main"
test "$(git cat-file -t "refs/tags/v$version")" = tag
test "$(git rev-parse "refs/tags/v$version^{commit}")" = "$(git rev-parse main)"
test "$(git for-each-ref --format='%(contents:subject)' "refs/tags/v$version")" = "$TASK_PRODUCT $version"
