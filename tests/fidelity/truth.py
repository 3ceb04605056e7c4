# SPDX-License-Identifier: BSD-3-Clause
"""Profiles of programs, and the exact ones among them, which are kept: they take long and never change.

They lie under $REUSE_FIDELITY_CACHE (default: libreuse-fidelity in the user's cache folder), in a folder
named by everything that decides them: the command, the program, the files it reads, the environment, the
line size, QEMU, and the exact engine itself. Whoever wants them anew removes the folder.
"""
import glob
import hashlib
import json
import os
import shutil
import subprocess

import workloads


def cache_folder():
    named = os.environ.get("REUSE_FIDELITY_CACHE")
    return named or os.path.join(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")),
                                 "libreuse-fidelity")


def report_of(profiles, *options):
    """What reuse-report says of these profiles together: all sections but traffic and hints, or what options name."""
    report = subprocess.run([workloads.REUSE_REPORT, "--format", "json", *options, *sorted(profiles)],
                            capture_output=True, text=True, check=False)
    if report.returncode != 0:
        raise RuntimeError(report.stderr.strip() or f"reuse-report: status {report.returncode}")
    return json.loads(report.stdout)


def profile(command, engine, options, folder, scratch, environment=None):
    """Runs a command under an engine: (the names of its profiles in the folder, the run)."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    run = workloads.Run([workloads.REUSE_RUN, "-q", "-e", engine, *options, "-o",
                         os.path.join(folder, "%e.%p.rprof"), "--", *command], scratch,
                        dict(os.environ, **(environment or {})))
    if run.status != 0:
        raise RuntimeError(f"{engine}: status {run.status}: {run.errors[:300]}")
    return glob.glob(os.path.join(glob.escape(folder), "*.rprof")), run


def digest_of_file(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def identity_of(program):
    """The file that tells one program from another: of bundled ones the source, because every build tree has
    its own paths in the binary."""
    folder, name = os.path.split(program)
    if folder == workloads.BUNDLED:
        return os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", name + ".c")
    return shutil.which(program)


def key_of(name, command, line_size, scratch, any_engine):
    """Hash of whatever decides the exact profile."""
    parts = [name, str(line_size), json.dumps(workloads.SAME_CODE | workloads.TRUTH, sort_keys=True)]
    parts.append(" ".join(word.replace(scratch, "").replace(workloads.BUILD, "") for word in command))
    parts.append(digest_of_file(identity_of(command[0])))
    for word in command:
        for path in word.split():
            if path.startswith(scratch + "/") and os.path.isfile(path):
                with open(path, "rb") as file:
                    text = file.read().replace(scratch.encode(), b"")
                parts.append(hashlib.sha256(text).hexdigest())
    if not any_engine:
        parts.append(digest_of_file(workloads.PLUGIN))
        qemu = subprocess.run(["qemu-x86_64", "--version"], capture_output=True, text=True, check=False)
        parts.append(qemu.stdout)
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:20]


def kept(name, command, line_size, scratch, any_engine):
    """Exact profiles from an earlier run, or None. any_engine: also those of other builds of it."""
    if any_engine:
        found = [folder for folder in glob.glob(os.path.join(cache_folder(), name + ".*"))
                 if os.path.exists(os.path.join(folder, "complete." + key_of(
                     name, command, line_size, scratch, True)))]
        folder = max(found, key=os.path.getmtime, default=None)
    else:
        folder = os.path.join(cache_folder(), f"{name}.{key_of(name, command, line_size, scratch, False)}")
    profiles = glob.glob(os.path.join(glob.escape(folder), "*.rprof")) if folder else []
    return profiles or None


def exact(name, command, line_size, scratch, any_engine=False):
    """The exact profiles of a program: (their names, None if they were kept or else the run)."""
    profiles = kept(name, command, line_size, scratch, any_engine)
    if profiles:
        return profiles, None
    key = key_of(name, command, line_size, scratch, False)
    folder = os.path.join(cache_folder(), f"{name}.{key}")
    environment = workloads.SAME_CODE | workloads.TRUTH | {"REUSE_LINE_SIZES": str(line_size)}
    profiles, run = profile(command, "exact", ["--line-size", str(line_size)], folder + ".part",
                            scratch, environment)
    with open(os.path.join(folder + ".part", "complete." + key_of(
            name, command, line_size, scratch, True)), "w"):
        pass
    shutil.rmtree(folder, ignore_errors=True)
    os.rename(folder + ".part", folder)
    return glob.glob(os.path.join(glob.escape(folder), "*.rprof")), run
