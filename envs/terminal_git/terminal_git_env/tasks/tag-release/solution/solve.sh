version="$TASK_MAJOR.$TASK_MINOR.0"
git pull -q --rebase
echo "$version" > VERSION
git commit -q -a -m "Release $version"
git tag -a "v$version" -m "$TASK_PRODUCT $version"
git push -q origin main "v$version"
