#!/usr/bin/env bash
# Installs the peers of the comparison, pinned in requirements.txt, into a virtual environment of their own.
# usage: setup.sh DIR        prints the path of the environment's Python
set -euo pipefail
dir=${1:?usage: setup.sh DIR}
here=$(cd "$(dirname "$0")" && pwd)
if ! cmp -s "$here/requirements.txt" "$dir/installed.txt"; then
  python3 -m venv --clear "$dir" >&2
  "$dir/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt" >&2
  cp "$here/requirements.txt" "$dir/installed.txt"
fi
echo "$dir/bin/python"
