#!/usr/bin/env bash
# All 16 methods of the paper's main table on SST: train, evaluate, compare. The result is docs/results/sst.md.
#   UNIREX_DATA=data benchmarks/sst_methods.sh runs/sst                 # up to 10 epochs
#   UNIREX_DATA=data EPOCHS=1 benchmarks/sst_methods.sh runs/sst        # the reduced setting
# What is finished is not done again; one run is one seed (SEED=1, another folder).
set -euo pipefail
out=${1:?folder for the runs}
epochs=${EPOCHS:-10}
seed=${SEED:-0}
budgets=${BUDGETS_PER_STEP:-1}  # one of the five budgets a step; "null": all of them, as the paper
trained=(vanilla l2e sgt fresh a2r aa-f sgt-p fresh-p a2r-p dlm-p aa-fp dlm-fp slm-fp)

for method in "${trained[@]}"; do
  unirex train --method "$method" --data sst --out "$out/$method" --stages "$out/stages" --resume \
    --seed "$seed" --training.epochs "$epochs" --budgets_per_step "$budgets"
done

measured() { [ -f "$1/metrics.json" ]; }
for extractor in gradient input-x-gradient deeplift integrated-gradients; do
  folder="$out/vanilla/evaluation/sst-test-$extractor"
  measured "$folder" || unirex evaluate "$out/vanilla" --data sst --extractor "$extractor" --draws 1 --beside
done
for method in "${trained[@]:1}"; do
  measured "$out/$method/evaluation/sst-test" || unirex evaluate "$out/$method" --data sst --draws 1 --beside
done

at="$out/vanilla/evaluation/sst-test"
unirex compare "AA (Grad)=$at-gradient" "AA (Input*Grad)=$at-input-x-gradient" "AA (DeepLIFT)=$at-deeplift" \
  "AA (IG)=$at-integrated-gradients" "L2E=$out/l2e" "SGT=$out/sgt" "FRESH=$out/fresh" "A2R=$out/a2r" \
  "UNIREX (AA-F)=$out/aa-f" "SGT+P=$out/sgt-p" "FRESH+P=$out/fresh-p" "A2R+P=$out/a2r-p" \
  "UNIREX (DLM-P)=$out/dlm-p" "UNIREX (AA-FP)=$out/aa-fp" "UNIREX (DLM-FP)=$out/dlm-fp" \
  "UNIREX (SLM-FP)=$out/slm-fp" --paper sst --out "$out/table.md"
