#!/usr/bin/env bash
# All 16 methods of the paper's main table on SST: train, measure, compare. The result is docs/results/sst.md.
#   UNIREX_DATA=data benchmarks/sst_methods.sh runs/sst                                 # up to 10 epochs
#   UNIREX_DATA=data EPOCHS=1 FIRST_ORDER=sgt-p benchmarks/sst_methods.sh runs/sst      # reduced, as there
# What is finished is not done again. One folder is one seed: SEED=1 wants another.
set -euo pipefail
out=${1:?folder for the runs}
common=(--data sst --seed "${SEED:-0}" --training.epochs "${EPOCHS:-10}")
common+=(--budgets_per_step "${BUDGETS_PER_STEP:-1}")  # one of the five a step; null: all of them, as the paper
trained=(vanilla l2e sgt fresh a2r aa-f sgt-p fresh-p a2r-p dlm-p aa-fp dlm-fp slm-fp)

for method in "${trained[@]}"; do
  kept=()  # stages that methods share
  case $method in l2e | fresh*) kept=(--stages "$out/stages") ;; esac
  graph=()  # of plausibility through attributions: all of it, unless the paper's first order is asked for
  [ "$method" != "${FIRST_ORDER:-}" ] || graph=(--extractor_options.create_graph false)
  unirex train --method "$method" "${common[@]}" "${graph[@]}" "${kept[@]}" --out "$out/$method" --resume
done

measure() {  # RUN NAME options…
  local run=$1 folder=$out/measured/$2
  shift 2
  [ -f "$folder/metrics.json" ] ||
    unirex evaluate "$out/$run" --data sst --draws 0 --beside --out "$folder" "$@"
}
for extractor in gradient input-x-gradient deeplift integrated-gradients; do
  measure vanilla "$extractor" --extractor "$extractor"
done
for method in "${trained[@]:1}"; do
  measure "$method" "$method"
done

python "$(dirname "$0")/sst_table.py" "$out/measured" | tee "$out/table.md"
