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
export npm_config_cache="${npm_config_cache:-$cache/npm}" # a server of Lab asks npm where it is
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
# Files and the terminal are UTF-8, whatever the locale says.
export PYTHONUTF8=1
unset PYTHONIOENCODING
export PYTHONPATH="$root/lib${PYTHONPATH:+:$PYTHONPATH}"

fail() {
  printf 'run_all.sh: %s\n' "$*" >&2
  exit 2
}

# Which environment: the one you named, a conda environment made for the workbook, or .venv. Any
# other that you are in stays as it is: installing there would replace its torch and its numpy.
environment=$root/.venv foreign=
if [ -n "${ALIGNBOOK_ENV:-}" ]; then
  environment=$ALIGNBOOK_ENV
elif [ -n "${CONDA_PREFIX:-}" ]; then
  if [ "${CONDA_DEFAULT_ENV:-}" != base ] && { [ "${CONDA_DEFAULT_ENV:-}" = alignbook ] ||
    [ "${CONDA_PREFIX##*/}" = alignbook ] || [ -e "$CONDA_PREFIX/.alignbook" ]; }; then
    environment=$CONDA_PREFIX
  else
    foreign=$CONDA_PREFIX
  fi
fi
python=$environment/bin/python
stamp=$environment/.alignbook # what was installed; written last, so half an environment has none

# Whether NVIDIA's libraries and Triton serve anybody here: where there is a driver, or as you say.
has_gpu() {
  case ${ALIGNBOOK_GPU:-} in
    yes) return 0 ;;
    no) return 1 ;;
    '') ;;
    *) fail "ALIGNBOOK_GPU=$ALIGNBOOK_GPU: expected yes or no" ;;
  esac
  [ -e /proc/driver/nvidia/version ] || [ -e /dev/nvidiactl ] ||
    [ -e /usr/lib/wsl/lib/libcuda.so.1 ] || command -v nvidia-smi >/dev/null
}

# What this start needs beyond what everybody does.
parts=
if has_gpu; then parts=gpu; fi
if [ "${1:-}" = test ]; then parts="$parts tests"; fi

is_locked() { # the lock's packages are there; a part of them may be left out
  [ -x "$python" ] && cmp -s "$root/requirements.lock" "$stamp/requirements.lock"
}

is_kept() { # you named it, and it is used as it is: others run in it
  [ -n "${ALIGNBOOK_ENV:-}" ] && [ "${ALIGNBOOK_INSTALL:-}" = no ] && [ -x "$python" ]
}

is_ready() {
  local part
  is_locked && cmp -s "$root/pyproject.toml" "$stamp/pyproject.toml" || return 1
  for part in $parts; do
    [ -e "$stamp/$part" ] || return 1
  done
}

# Says of a foreign environment what is used instead: once, or each time if nothing can be written.
tell_of_foreign() {
  local told
  told=$cache/told-$(printf %s "$foreign" | cksum | tr ' ' -)
  if [ -e "$told" ]; then return; fi
  echo "run_all.sh: the conda environment $foreign is not the workbook's and stays as it is:" \
    "using .venv (ALIGNBOOK_ENV=$foreign installs there instead)" >&2
  { mkdir -p "$cache" && : >"$told"; } 2>/dev/null || true
}

# Prints the lock's entries that these parts need; an entry is a line NAME==VERSION and its hashes.
# Without a GPU PyTorch calls two of NVIDIA's packages; lib/alignbook/workbook/placeholders.py replaces those
# that it only asks for. The GPU's kernels are tested without one too, in Triton's interpreter.
needed_packages() {
  awk -v parts=" $parts " '
    /^[a-z0-9]/ {
      name = $0
      sub(/==.*/, "", name)
      gpu = name ~ /^(triton$|cuda-|nvidia-)/ && name !~ /^nvidia-(cuda-runtime|cuda-cupti|ml-py)$/
      tests = name ~ /^(ast-serialize|execnet|grimp|hypothesis|import-linter|librt|mypy|mypy-extensions|pathspec|playwright|pytest|pytest-xdist|ruff|triton)$/
      wanted = !gpu && !tests || gpu && parts ~ / gpu / || tests && parts ~ / tests /
    }
    wanted' "$root/requirements.lock"
}

# Prints how much a part takes, in tenths of a GB, as measured; Triton is the GPU's and the tests'.
size_of() {
  case $(uname -s),$1,$parts in
    Linux,all,*) echo 32 ;;
    Linux,gpu,*) echo 42 ;;
    Linux,tests,*gpu*) echo 2 ;;
    Linux,tests,*) echo 12 ;;
    *,all,*) echo 20 ;;
    *,tests,*) echo 2 ;;
    *) echo 0 ;;
  esac
}

# A conda environment that has every package, made from environment.yml: conda's versions are used.
is_condas() {
  [ -z "${ALIGNBOOK_ENV:-}" ] && [ "$environment" = "${CONDA_PREFIX:-}" ] || return 1
  if [ -e "$stamp" ] && [ ! -e "$stamp/conda" ]; then return 1; fi
  local lacking
  lacking=$("$python" -c '
import re, sys
from importlib.metadata import distributions
there = {re.sub("[-_.]+", "-", each.name).lower() for each in distributions()}
wanted = re.findall(r"(?m)^[\w.-]+", open(sys.argv[1]).read())
print(*[each for each in wanted if re.sub("[-_.]+", "-", each).lower() not in there])
' "$root/requirements.in") || return 1
  if [ -n "$lacking" ] && [ -e "$stamp/conda" ]; then
    fail "$environment lacks $lacking: conda env update -f environment.yml, then start again"
  fi
  [ -z "$lacking" ]
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
  local target=$environment tenths=0 without= or_without= part
  find_uv
  if is_condas; then
    parts="conda gpu tests"
    install_package "$environment"
    echo "using conda's packages in $environment; ./run_all.sh doctor sets them beside the lock's"
    return
  fi
  for part in gpu tests; do # what another start or machine needs stays
    if [ -e "$stamp/$part" ]; then parts="$parts $part"; fi
    case " $parts " in *" $part "*)
      if ! is_locked || [ ! -e "$stamp/$part" ]; then tenths=$((tenths + $(size_of $part))); fi ;;
    esac
  done
  if is_locked; then
    if [ "$tenths" = 0 ]; then # only pyproject.toml changed
      install_package "$environment"
      return
    fi
  elif [ "$environment" = "$root/.venv" ]; then # made aside: .venv is whole or not there
    rm -rf "$cache"/venv-*
    target=$cache/venv-$$
    "$uv" venv --quiet --no-project --relocatable --python "$python_wanted" "$target" ||
      fail "uv found and fetched no Python $python_wanted; install one, then start again"
  elif [ -x "$python" ]; then
    "$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' ||
      fail "$environment has $("$python" --version), expected 3.11 to 3.13: conda env create -f" \
        "environment.yml makes one, or deactivate it and .venv is used"
    rm -f "$stamp/requirements.lock"
  else
    fail "$environment is no environment: there is no bin/python in it"
  fi
  if ! is_locked; then
    tenths=$((tenths + $(size_of all)))
    case $(uname -s),$parts in
      *gpu* | Darwin*) ;;
      *) without="; without what only a GPU needs: ALIGNBOOK_GPU=yes adds it" ;;
    esac
  elif has_gpu; then
    or_without=", or with ALIGNBOOK_GPU=no"
  fi
  echo "installing the workbook's packages into $environment" \
    "(about $((tenths / 10)).$((tenths % 10)) GB$without)"
  until install_needed "$target" "$or_without"; do
    case " $parts " in *" gpu "*) fail "PyTorch does not load, see above" ;; esac
    echo "PyTorch does not load without what a GPU needs: installing that too"
    parts="$parts gpu"
  done
  install_package "$target"
  if [ "$target" != "$environment" ]; then
    rm -rf "$environment"
    mv "$target" "$environment"
  fi
  echo "environment ready after $((SECONDS - started)) s"
}

# A line every half a minute, until it is ended or this start is.
tell_the_time() {
  local waited=0
  while sleep 1 >/dev/null 2>&1 && kill -0 $$ 2>/dev/null; do
    waited=$((waited + 1))
    [ $((waited % 25)) != 0 ] || echo "… still installing, $((SECONDS - started)) s"
  done
}

teller= # the process that says it
stop_telling() {
  if [ -n "$teller" ]; then { kill "$teller" && wait "$teller"; } 2>/dev/null || true; fi
  teller=
}

# The lock's packages into environment $1; whether PyTorch loads then.
install_needed() {
  needed_packages >"$cache/needed.lock"
  "$uv" pip install --quiet --python "$1/bin/python" --require-hashes --no-deps \
    --compile-bytecode -r "$cache/needed.lock" ||
    fail "the packages could not be installed; start again to go on$2"
  "$1/bin/python" -m alignbook.workbook.placeholders
}

# The package itself, from this folder, into environment $1; then the stamp: what was installed.
install_package() {
  local part new=$1/.alignbook.new
  "$uv" pip install --quiet --python "$1/bin/python" --no-build-isolation --no-deps \
    --editable "$root" || fail "the package alignbook itself could not be installed"
  rm -rf "$1/.alignbook" "$new"
  mkdir -p "$new"
  cp "$root/requirements.lock" "$root/pyproject.toml" "$new/"
  for part in $parts; do touch "$new/$part"; done
  mv "$new" "$1/.alignbook"
}

# One set-up at a time. A folder is the lock: mkdir is atomic everywhere, macOS has no flock.
with_setup_lock() {
  local lock=$cache/setup.lock owner waited=0
  { mkdir -p "$cache" && : >"$cache/.$$" && rm "$cache/.$$"; } 2>/dev/null ||
    fail "cannot write to $cache: is its disk full or read-only, or a file in the way? Mend that," \
      "then start again"
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
      [ $((waited % 25)) != 0 ] || echo "waiting for the set-up that process $owner is at"
      waited=$((waited + 1))
      sleep 1
    fi
  done
  echo $$ >"$lock/pid"
  trap 'stop_telling; rm -rf "$cache/setup.lock"' EXIT
  trap 'exit 130' INT TERM HUP
  "$@"
  rm -rf "$lock"
  trap - EXIT INT TERM HUP
}

set_up_if_needed() {
  if is_ready; then return; fi # another start may just have done it
  local started=$SECONDS
  tell_the_time &
  teller=$!
  install_environment
  stop_telling
}

if [ "${1:-}" = lock ]; then
  find_uv
  cd -- "$root"
  exec "$uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
    --no-annotate --no-emit-index-url --override overrides.in requirements.in \
    --output-file requirements.lock
fi

[ -z "$foreign" ] || tell_of_foreign
is_kept || is_ready || with_setup_lock set_up_if_needed
exec "$python" -m alignbook ${1+"$@"}
