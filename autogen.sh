#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Makes ./configure from configure.ac in a fresh checkout.
set -e
cd "$(dirname "$0")"
exec autoreconf --install --warnings=all,no-obsolete
