#!/usr/bin/env bash
# The workbook's only door: makes its environment on first use, then hands over to
# `python -m alignbook`. Try ./run_all.sh --help. Written for bash 3.2 (macOS) and later.
set -euo pipefail

root=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
uv_version=0.13.8
python_wanted='>=3.11,<3.14'

# Everything fetched, compiled or remembered stays in the project folder, unless you say otherwise.
cache=$root/.cache
export UV_CACHE_DIR="${UV_CACHE_DIR:-$cache/uv}"
export UV_PYTHON_INSTALL_DIR="${UV_PYTHON_INSTALL_DIR:-$cache/python}"
export XDG_CACHE_HOME="${XDG_CACHE_HOME:-$cache}"
export SNAKEMAKE_OUTPUT_CACHE="${SNAKEMAKE_OUTPUT_CACHE:-$cache/snakemake-outputs}"
export MPLCONFIGDIR="${MPLCONFIGDIR:-$cache/matplotlib}"
export TORCH_HOME="${TORCH_HOME:-$cache/torch}"
export TORCHINDUCTOR_CACHE_DIR="${TORCHINDUCTOR_CACHE_DIR:-$cache/torchinductor}"
export TRITON_CACHE_DIR="${TRITON_CACHE_DIR:-$cache/triton}"
export HF_HOME="${HF_HOME:-$cache/huggingface}"
export YOLO_CONFIG_DIR="${YOLO_CONFIG_DIR:-$cache/ultralytics}"
export IPYTHONDIR="${IPYTHONDIR:-$cache/ipython}"
export JUPYTER_CONFIG_DIR="${JUPYTER_CONFIG_DIR:-$cache/jupyter/config}"
export JUPYTER_DATA_DIR="${JUPYTER_DATA_DIR:-$cache/jupyter/data}"
export JUPYTER_RUNTIME_DIR="${JUPYTER_RUNTIME_DIR:-$cache/jupyter/runtime}"
export JUPYTER_PREFER_ENV_PATH=1 # this environment's kernel, not one from the home folder

# Nothing asks the network, and nobody is told what runs here.
export HF_HUB_OFFLINE="${HF_HUB_OFFLINE:-1}"
export TRANSFORMERS_OFFLINE="${TRANSFORMERS_OFFLINE:-1}"
export YOLO_OFFLINE="${YOLO_OFFLINE:-true}"
export HF_HUB_DISABLE_TELEMETRY=1 DO_NOT_TRACK=1

# The same seed gives the same bytes (on the CPU; a GPU may add up in another order).
export PYTHONHASHSEED=0
export CUBLAS_WORKSPACE_CONFIG="${CUBLAS_WORKSPACE_CONFIG:-:4096:8}"
export TOKENIZERS_PARALLELISM=false
# Threads that wait without spinning: on a machine at work on something else, two spinning threads
# were seen to take a hundred times as long as one.
export OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-PASSIVE}"
export PYTHONNOUSERSITE=1
unset PYTHONDONTWRITEBYTECODE PYTHONHOME # without bytecode every import takes three times as long
export PYTHONPATH="$root/lib${PYTHONPATH:+:$PYTHONPATH}"

fail() {
  printf 'run_all.sh: %s\n' "$*" >&2
  exit 2
}

# Which environment: the one you named, the conda environment you are in, or .venv.
if [ -n "${ALIGNBOOK_ENV:-}" ]; then
  environment=$ALIGNBOOK_ENV
elif [ -n "${CONDA_PREFIX:-}" ] && [ "${CONDA_DEFAULT_ENV:-}" != base ]; then
  environment=$CONDA_PREFIX
else
  environment=$root/.venv
fi
python=$environment/bin/python
stamp=$environment/.alignbook # what was installed; written last, so half an environment has none

is_ready() {
  [ -x "$python" ] &&
    cmp -s "$root/requirements.lock" "$stamp/requirements.lock" &&
    cmp -s "$root/pyproject.toml" "$stamp/pyproject.toml"
}

# Sets $uv: the one on PATH, the environment's, or a pinned one fetched into .cache.
find_uv() {
  if uv=$(command -v uv); then return; fi
  for uv in "$environment/bin/uv" "$cache/uv-bootstrap/bin/uv"; do
    if [ -x "$uv" ]; then return; fi
  done
  local candidate
  candidate=$(command -v python3 || command -v python) ||
    fail "needs uv (https://docs.astral.sh/uv) or any Python 3 with venv on PATH: install one" \
      "(Debian, Ubuntu: apt install python3-venv; macOS: xcode-select --install), then start again"
  echo "fetching uv $uv_version into .cache/uv-bootstrap"
  rm -rf "$cache/uv-bootstrap"
  "$candidate" -m venv "$cache/uv-bootstrap" ||
    fail "'$candidate -m venv' failed: install uv or python3-venv (apt), then start again"
  "$cache/uv-bootstrap/bin/python" -m pip install --quiet --disable-pip-version-check \
    "uv==$uv_version" || fail "could not fetch uv $uv_version: is there a network?"
}

install_environment() {
  local started=$SECONDS target=$environment
  find_uv
  if [ -x "$python" ] && cmp -s "$root/requirements.lock" "$stamp/requirements.lock"; then
    install_package "$environment" # only pyproject.toml changed
    return
  fi
  if [ "$environment" = "$root/.venv" ]; then # made aside: .venv is whole or not there
    rm -rf "$cache"/venv-*
    target=$cache/venv-$$
    "$uv" venv --quiet --no-project --relocatable --python "$python_wanted" "$target" ||
      fail "uv found and fetched no Python $python_wanted; install one, then start again"
  elif [ -x "$python" ]; then
    "$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' ||
      fail "$environment has $("$python" --version), expected 3.11 to 3.13: conda env create -f" \
        "environment.yml makes one, or deactivate it and .venv is used"
    rm -rf "$stamp"
  else
    fail "$environment is no environment: there is no bin/python in it"
  fi
  echo "installing the workbook's packages into $environment (about 7 GB)"
  "$uv" pip install --quiet --python "$target/bin/python" --require-hashes --no-deps \
    --compile-bytecode -r "$root/requirements.lock" ||
    fail "the packages could not be installed; start again to go on"
  install_package "$target"
  if [ "$target" != "$environment" ]; then
    rm -rf "$environment"
    mv "$target" "$environment"
  fi
  echo "environment ready after $((SECONDS - started)) s"
}

# The package itself, from this folder, into environment $1; then the stamp.
install_package() {
  "$uv" pip install --quiet --python "$1/bin/python" --no-build-isolation --no-deps \
    --editable "$root" || fail "the package alignbook itself could not be installed"
  rm -rf "$1/.alignbook" "$1/.alignbook.new"
  mkdir -p "$1/.alignbook.new"
  cp "$root/requirements.lock" "$root/pyproject.toml" "$1/.alignbook.new/"
  mv "$1/.alignbook.new" "$1/.alignbook"
}

# One set-up at a time. A folder is the lock: mkdir is atomic everywhere, macOS has no flock.
with_setup_lock() {
  local lock=$cache/setup.lock owner announced=
  mkdir -p "$cache"
  until mkdir "$lock" 2>/dev/null; do
    owner=$(cat "$lock/pid" 2>/dev/null) || owner=
    if [ -z "$owner" ]; then # just made, or left in between: give it a moment to say whose it is
      sleep 2
      owner=$(cat "$lock/pid" 2>/dev/null) || owner=none
    fi
    if [ "$owner" = none ] || ! kill -0 "$owner" 2>/dev/null; then
      # rename first: of two that see a dead owner only one gets to remove the lock
      mv "$lock" "$lock.$$" 2>/dev/null && rm -rf "$lock.$$"
    else
      [ -n "$announced" ] || echo "waiting for the set-up that process $owner is at"
      announced=yes
      sleep 1
    fi
  done
  echo $$ >"$lock/pid"
  trap 'rm -rf "$cache/setup.lock"' EXIT
  trap 'exit 130' INT TERM HUP
  "$@"
  rm -rf "$lock"
  trap - EXIT INT TERM HUP
}

set_up_if_needed() {
  is_ready || install_environment # another start may just have done it
}

if [ "${1:-}" = lock ]; then
  find_uv
  cd -- "$root"
  exec "$uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
    --no-annotate --no-emit-index-url --override overrides.in requirements.in \
    --output-file requirements.lock
fi

is_ready || with_setup_lock set_up_if_needed
exec "$python" -m alignbook ${1+"$@"}
