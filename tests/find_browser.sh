#!/bin/sh
# Find a Chromium for the playground's tests, or get one: from the system's packages where that is
# allowed, else playwright's own build. Never fails: without a browser those tests are skipped.
for name in chromium chromium-browser google-chrome; do
    command -v "$name" >/dev/null 2>&1 && exit 0
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    export DEBIAN_FRONTEND=noninteractive
    echo "installing chromium for the playground's tests"
    { apt-get update -qq && timeout 300 apt-get install -y -qq --no-install-recommends chromium; } \
        >/dev/null 2>&1 && exit 0
fi
timeout 300 "$1/python" -m playwright install chromium >/dev/null 2>&1 && exit 0
echo "no browser could be had: the playground's tests will be skipped"
exit 0
