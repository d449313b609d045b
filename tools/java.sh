#!/bin/sh
# Succeeds if there is a Java that Spark runs on (17 or 21). If there is none, it installs Debian's, which only root can.
# Otherwise it says what is missing.
set -u
found() {
    command -v "${JAVA_HOME:+$JAVA_HOME/bin/}java" >/dev/null 2>&1 &&
        "${JAVA_HOME:+$JAVA_HOME/bin/}java" -version 2>&1 | grep -qE 'version "(17|21)'
}
found && exit 0
if ! command -v apt-get >/dev/null 2>&1; then
    echo "Spark needs Java 17 or 21. There is none, and no apt-get to install it."
    exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
    echo "Spark needs Java 17 or 21. There is none, and only root can install it: apt-get install openjdk-17-jre-headless"
    exit 1
fi
echo "Installing openjdk-17-jre-headless for Spark."
{ apt-get install -y -qq --no-install-recommends openjdk-17-jre-headless ||
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends openjdk-17-jre-headless; }; } >/dev/null 2>&1
found && exit 0
echo "Spark needs Java 17 or 21. apt-get could not install openjdk-17-jre-headless."
exit 1
