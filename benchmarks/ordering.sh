#!/usr/bin/env bash
# Faithful and plausible at once: slm-fpo with its defaults beside a plain classifier, three seeds on SST test, and
# once on Movies: docs/results/ordering.md.
#   UNIREX_DATA=data benchmarks/ordering.sh runs/ordering
# What is finished is not done again.
set -euo pipefail
out=${1:?folder for the runs}

measure() {  # RUN DATASET options…
  local run=$1 data=$2 folder=$out/measured/$1
  shift 2
  [ -e "$folder" ] || unirex evaluate "$out/$run" --data "$data" --draws 0 --beside mask_token --out "$folder" "$@"
}
for seed in 0 1 2; do
  for method in vanilla slm-fpo; do
    run=sst-$method-$seed
    unirex train --method "$method" --data sst --seed "$seed" --training.epochs 3 --out "$out/$run" --resume
    measure "$run" sst
  done
done
for method in vanilla slm-fpo; do
  run=movies-$method-0
  unirex train --method "$method" --data movies --seed 0 --training.epochs 2 --training.batch_size 8 \
    --max_length 192 --out "$out/$run" --resume
  measure "$run" movies
done
