git bisect start main "$(git rev-list --max-parents=0 main)"
git bisect run sh check.sh
git rev-parse refs/bisect/bad > ~/answer.txt
git bisect reset
