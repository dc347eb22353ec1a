# Everything here needs only make and Python >= 3.10: each target creates or updates .venv itself.
# A second run installs nothing; a change of pyproject.toml or constraints.txt installs again.

PYTHON ?= python3
JOBS ?= 2
PYTEST_ARGS ?=
# Names of pictures to take, as in `make pictures PICTURES='report site'`; all of them if it is empty.
PICTURES ?=

VENV := .venv
BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
TORCH := torch==2.13.0
PINS := pyproject.toml lab/pyproject.toml constraints.txt
RESULTS := lab/results/engine
NOISY := f01-i3-d5~0.1,f03-i3-d5~0.1,f08-i3-d5~0.1,f10-i3-d5~0.1,f15-i3-d5~0.1,f17-i3-d5~0.1,f20-i3-d5~0.1,f23-i3-d5~0.1,f01-i3-d5~0.5,f03-i3-d5~0.5,f08-i3-d5~0.5,f10-i3-d5~0.5,f15-i3-d5~0.5,f17-i3-d5~0.5,f20-i3-d5~0.5,f23-i3-d5~0.5,f01-i3-d5~1,f03-i3-d5~1,f08-i3-d5~1,f10-i3-d5~1,f15-i3-d5~1,f17-i3-d5~1,f20-i3-d5~1,f23-i3-d5~1
REPORTED_MODELS := three-digits,five-diabetes,six-friedman2,three-friedman3,five-moons,six-alcohol,five-quantiles,six-wide
# Environments beside .venv: of peers, of the lowest versions, of other versions of Python.
PEERS := .venvs
# Versions of Python that pellucid supports.
PYTHONS ?= 3.10 3.11 3.12 3.13

# One thread per process: workers are the unit of parallelism, and peers are timed on equal terms.
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1
export MKL_NUM_THREADS := 1
export NUMEXPR_NUM_THREADS := 1
# Tests start many processes: those after the first need not compile the sources again.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help peers demo test test-engines test-lab test-pages test-slow test-lowest test-pythons test-processors dist \
        test-wheels test-release check ten-studies docs pictures format bench bench-latency bench-scale bench-regret-bbob \
        bench-regret-hpobench bench-regret-rbv2 bench-search bench-models bench-choices bench-peers reproduce-sawei \
        bench-stopping bench-report bench-truth bench-constrained bench-moo bench-curves bench-forecasts bench-pruning \
        bench-faults bench-engines bench-running bench-fronts bench-ranking bench-information reproduce-bobax \
        reproduce-shapley reproduce-hsic reproduce-ranking clean distclean

help: ## list the targets
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-22s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# ------------------------------------------------------------------------------------- environments

$(VENV)/.stamp-venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' \
	  || { echo "pellucid needs Python >= 3.10, but $(PYTHON) is $$($(PYTHON) --version 2>&1); set PYTHON=..."; exit 1; }
	@echo "Creating $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.stamp-demo: $(VENV)/.stamp-venv $(PINS)
	@echo "Installing pellucid, plotly and scikit-learn"
	@$(PIP_INSTALL) -e '.[plots]' scikit-learn
	@touch $@

$(VENV)/.stamp-dev: $(VENV)/.stamp-venv $(PINS)
	@echo "Installing pellucid and the development tools"
	@$(PIP_INSTALL) -e '.[dev]'
	@touch $@

# Before anything that depends on torch, so that the tested build is the one in place.
$(VENV)/.stamp-torch: $(VENV)/.stamp-venv constraints.txt
	@echo "Installing $(TORCH)"
	@$(PIP_INSTALL) $(TORCH)
	@touch $@

$(VENV)/.stamp-test: $(VENV)/.stamp-torch $(PINS)
	@echo "Installing pellucid and the development tools"
	@$(PIP_INSTALL) -e '.[dev,ranking]'
	@touch $(VENV)/.stamp-demo $(VENV)/.stamp-dev $@

# Engines of clusters, drivers of databases and trackers, beside what the other tests need.
$(VENV)/.stamp-engines: $(VENV)/.stamp-test $(PINS)
	@echo "Installing Ray, Dask, gRPC, drivers of databases, trackers and a kernel for notebooks"
	@$(PIP_INSTALL) -e '.[dask,grpc,mlflow,mysql,notebook,postgres,ray,wandb]'
	@touch $@

# The reference is read from the sources, so that the site needs nothing that pellucid needs but pellucid itself.
$(VENV)/.stamp-docs: $(VENV)/.stamp-venv $(PINS)
	@echo "Installing what builds the site"
	@$(PIP_INSTALL) -e '.[docs]'
	@touch $@

# nbconvert shows the notebook; Pillow makes pictures smaller.
$(VENV)/.stamp-pictures: $(VENV)/.stamp-docs $(PINS)
	@echo "Installing what the pictures show"
	@$(PIP_INSTALL) -e '.[dashboard,notebook,plots]' nbconvert pillow scikit-learn
	@touch $@

# The laboratory's tests run the peers too.
$(VENV)/.stamp-lab: $(VENV)/.stamp-test $(PINS)
	@echo "Installing the laboratory, its peers and its problems"
	@$(PIP_INSTALL) -e . -e 'lab[all]'
	@touch $@

# Peers whose packages exclude ours run in environments of their own, as processes that the laboratory starts. The files
# name every package, so that nothing is resolved; HEBO's numpy has no wheels for a Python newer than 3.11.
$(PEERS)/ax/.stamp $(PEERS)/hebo/.stamp: FIRST := $(TORCH)
$(PEERS)/%/.stamp: lab/peers/%.txt
	@echo "Installing $* and its packages into $(PEERS)/$*"
	@$(PYTHON) -m venv $(PEERS)/$*
	@$(if $(FIRST),$(PEERS)/$*/bin/python -m pip install --quiet --disable-pip-version-check $(FIRST))
	@$(PEERS)/$*/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r $<
	@touch $@

# Exit code 3: the clone has no history as far as that, and the script has said so.
$(PEERS)/rc1/.stamp: tools/rc1.sh constraints.txt $(PEERS)/build/.stamp
	@sh tools/rc1.sh $(PYTHON) $(PEERS)/build/bin/python $(PEERS)/rc1 && touch $@ || [ $$? -eq 3 ]

peers: $(PEERS)/ax/.stamp $(PEERS)/hebo/.stamp $(PEERS)/vizier/.stamp $(PEERS)/rc1/.stamp ## create the environments of Ax, HEBO, Vizier and 1.0.0rc1

# ------------------------------------------------------------------------------------- demo and tests

demo: $(VENV)/.stamp-demo ## tune a scikit-learn model and write a report (resumes on a second run)
	@$(BIN)/python examples/demo.py

test: $(VENV)/.stamp-test ## run the tests of pellucid
	@sh tools/ensure.sh postgres
	@sh tools/ensure.sh chromium
	@sh tools/ensure.sh openmp
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(PYTEST_ARGS)

test-engines: $(VENV)/.stamp-engines ## run the tests with clusters, database servers, trackers and a notebook
	@sh tools/ensure.sh postgres
	@sh tools/ensure.sh mariadb
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m "engine and not slow" $(PYTEST_ARGS)

test-lab: $(VENV)/.stamp-lab ## run the tests of the laboratory
	@sh tools/ensure.sh chromium
	@sh tools/ensure.sh openmp
	$(BIN)/python -m pytest -n $(JOBS) lab/tests $(PYTEST_ARGS)

build/axe-core/axe.min.js: tools/axe.sh
	@echo "Downloading axe-core"
	@sh tools/axe.sh build/axe-core
	@touch $@

test-pages: $(VENV)/.stamp-test docs build/axe-core/axe.min.js ## use reports in a browser, and look at them and at the site with axe-core: everybody can use them, and they are silent
	@sh tools/ensure.sh chromium
	$(BIN)/python -m pytest -n $(JOBS) -m pages tests/answers tests/reporting tests/docs tests/golden $(PYTEST_ARGS)

test-slow: $(VENV)/.stamp-lab $(VENV)/.stamp-engines ## run the slow statistical tests
	@sh tools/ensure.sh postgres
	@sh tools/ensure.sh mariadb
	$(BIN)/python -m pytest -n $(JOBS) -m slow tests lab/tests $(PYTEST_ARGS)

# On the oldest Python if this machine has it: the lowest versions have no wheels for the newest.
LOWEST_EXTRAS := dashboard,dask,grpc,interactions,mcp,mlflow,mysql,notebook,plots,postgres,ray,wandb
$(PEERS)/lowest/.stamp: lowest.txt pyproject.toml
	@echo "Installing pellucid with the versions of lowest.txt into $(PEERS)/lowest"
	@python=$$(sh tools/pythons.sh find 3.10) || python=$(PYTHON); $$python -m venv --clear $(PEERS)/lowest
	@$(PEERS)/lowest/bin/python -m pip install --quiet --disable-pip-version-check -c lowest.txt -e '.[$(LOWEST_EXTRAS)]'
	@touch $@

test-lowest: $(PEERS)/lowest/.stamp ## try the commands, extras and killed workers with the lowest versions of the dependencies
	$(PEERS)/lowest/bin/python tools/smoke.py
	$(PEERS)/lowest/bin/python tools/killed_workers.py

test-pythons: ## try the commands with each Python that pellucid supports and this machine has
	@sh tools/pythons.sh try $(PEERS) $(PYTHONS)

$(PEERS)/build/.stamp: $(PINS)
	@$(PYTHON) -m venv --clear $(PEERS)/build
	@$(PEERS)/build/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt hatchling
	@touch $@

# With the guides, which are among the tests of the engines.
test-processors: $(VENV)/.stamp-engines ## run the tests of pellucid as older and newer processors compute, those that this one can
	@sh tools/ensure.sh postgres
	@sh tools/ensure.sh chromium
	@sh tools/ensure.sh openmp
	$(BIN)/python tools/processors.py -n $(JOBS) --dist worksteal -m "guide or not (slow or engine or pages)" $(PYTEST_ARGS)

dist: $(PEERS)/build/.stamp ## build the wheels and source distributions of pellucid and its laboratory into dist
	@sh tools/dist.sh $(PEERS)/build/bin/python dist

test-wheels: dist ## install both from a local index into a fresh environment, and use them from outside the checkout
	@$(PEERS)/build/bin/python tools/wheels.py dist $(PEERS)/wheels

test-release: test-wheels test-lowest test-pythons test-processors ## everything that is tried before a release, beside .ci/run

check: $(VENV)/.stamp-dev ## ruff, mypy (strict) and import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	PYTHONPATH=lab/src $(BIN)/lint-imports --no-logo

ten-studies: $(VENV)/.stamp-dev ## write all that is said about ten studies into build/ten, to be read
	$(BIN)/python tools/ten_studies.py build/ten

docs: $(VENV)/.stamp-docs ## build the site into build/site; a warning or a dead link is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

pictures: $(VENV)/.stamp-pictures ## take every picture in docs/images: the report, the notebook, the dashboard, the site, figures
	@sh tools/ensure.sh chromium
	@sh tools/ensure.sh poppler
	$(BIN)/python -m tools.pictures $(PICTURES)

format: $(VENV)/.stamp-dev ## apply the safe fixes of ruff and format every Python file
	$(BIN)/ruff check --fix --exit-zero --quiet .
	$(BIN)/ruff format .

# ----------------------------------------------------------------------------------------- benchmarks
# The runner is resumable: repeat a target to continue after a stop. Targets that need data files take them from the
# folder $PELLUCID_DATA.

bench: bench-latency bench-scale bench-regret-bbob bench-regret-hpobench bench-regret-rbv2 ## run all benchmarks

bench-latency: $(VENV)/.stamp-lab ## milliseconds per ask, ours and the peers'
	$(BIN)/pellucid bench latency --methods pellucid,optuna-gp,botorch,smac,ei,sawei --max-n botorch=280,smac=280 \
	  --out $(RESULTS)/latency.json --table $(RESULTS)/latency.md

bench-scale: $(VENV)/.stamp-lab ## asks of large studies: milliseconds, megabytes, and regret of a choice of trials
	$(BIN)/pellucid bench scale --out $(RESULTS)/scale.jsonl --table $(RESULTS)/scale.md

bench-regret-bbob: $(VENV)/.stamp-lab ## regret on the 24 BBOB functions, 8-d
	$(BIN)/pellucid bench regret --suite bbob --dim 8 --functions 1-24 --instances 1,2 --seeds 0 \
	  --init 24 --steps 76 --methods pellucid,optuna-gp,optuna-tpe,random,ei \
	  --out $(RESULTS)/bbob.jsonl --table $(RESULTS)/bbob.md --jobs $(JOBS)
	$(BIN)/pellucid bench regret --suite bbob --dim 8 --functions 1,8,15,20,23 --instances 1 --seeds 0 \
	  --init 24 --steps 76 --methods botorch \
	  --out $(RESULTS)/bbob.jsonl --table $(RESULTS)/bbob.md --jobs $(JOBS)

bench-regret-hpobench: $(VENV)/.stamp-lab ## regret on the HPOBench tables
	$(BIN)/pellucid bench regret --suite hpobench --seeds 0-9 --init 15 --steps 50 \
	  --methods pellucid,optuna-gp,optuna-tpe,random,ei \
	  --out $(RESULTS)/hpobench.jsonl --table $(RESULTS)/hpobench.md --jobs $(JOBS)

bench-regret-rbv2: $(VENV)/.stamp-lab ## regret on rbv2_xgboost, a conditional space
	$(BIN)/pellucid bench regret --suite rbv2_xgboost --seeds 0-9 --init 20 --steps 60 \
	  --methods pellucid,optuna-gp,optuna-tpe,optuna-tpe-group,random,ei \
	  --out $(RESULTS)/rbv2.jsonl --table $(RESULTS)/rbv2.md --jobs $(JOBS)

bench-search: $(VENV)/.stamp-lab ## regret on BBOB by regime: dimensions, noise, budgets, trials at the start
	@for d in 2 3 5 8 10 20; do steps=50; [ $$d = 20 ] && steps=90; \
	  $(BIN)/pellucid bench regret --suite bbob --dim $$d --functions 1-24 --instances 3 --seeds 0-1 --init 10 --steps $$steps \
	    --methods optuna-tpe,optuna-gp,pellucid,ei,lcb-2,sawei --out lab/results/search/bbob.jsonl --jobs $(JOBS) --quiet \
	    --table lab/results/search/bbob.md || exit 1; done
	$(BIN)/pellucid bench regret --suite bbob --tasks $(NOISY) --seeds 0-2 --init 10 --steps 50 \
	  --methods optuna-tpe,optuna-gp,pellucid,ei,lcb-2,sawei \
	  --out lab/results/search/noise.jsonl --table lab/results/search/noise.md --jobs $(JOBS)
	@for budget in "5 25" "20 40" "10 90" "10 290"; do set -- $$budget; \
	  $(BIN)/pellucid bench regret --suite bbob --dim 5 --functions 1,3,6,8,10,12,15,17,20,21,23,24 --instances 3 --seeds 0 \
	    --init $$1 --steps $$2 --methods optuna-tpe,pellucid,ei,lcb-2,sawei --out lab/results/search/budgets.jsonl \
	    --table lab/results/search/budgets.md --jobs $(JOBS) --quiet || exit 1; done

bench-models: $(VENV)/.stamp-lab ## regret on choices between real models, scikit-learn and LightGBM
	@sh tools/ensure.sh openmp
	$(BIN)/pellucid bench regret --suite models --tasks $(REPORTED_MODELS) --seeds 6-17 --init 10 --steps 50 \
	  --methods optuna-tpe,optuna-gp,pellucid \
	  --out lab/results/search/models.jsonl --table lab/results/search/models.md --jobs $(JOBS)

bench-choices: $(VENV)/.stamp-lab ## how soon the best branch of a choice is found
	$(BIN)/pellucid bench regret --suite choices --tasks solvers,losses,five,sextet,half-dozen,needle \
	  --instances 100-115 --seeds 0 --init 10 --steps 90 --methods optuna-tpe,optuna-gp,pellucid \
	  --out lab/results/search/choices.jsonl --table lab/results/search/choices.md --jobs $(JOBS)

# BBOB in an order that has every function and every dimension in each third, so that a part of it is comparable.
PEER_CELLS := f03-i3-d2,f08-i3-d5,f12-i3-d10,f17-i3-d2,f21-i3-d5,f23-i3-d10,f03-i3-d5,f08-i3-d10,f12-i3-d2,$\
f17-i3-d5,f21-i3-d10,f23-i3-d2,f03-i3-d10,f08-i3-d2,f12-i3-d5,f17-i3-d10,f21-i3-d2,f23-i3-d5
PEER_RUNS := --init 10 --steps 40 --methods ax,hebo,vizier,botorch,smac,pellucid --jobs 1 \
  --out $(RESULTS)/peers.jsonl --table $(RESULTS)/peers.md

bench-peers: $(VENV)/.stamp-lab ## regret of Ax, HEBO, Vizier, BoTorch and SMAC beside ours (first: make peers)
	$(BIN)/pellucid bench regret --suite bbob --tasks $(PEER_CELLS) --seeds 0 $(PEER_RUNS)
	$(BIN)/pellucid bench regret --suite synthetic --tasks mixed-network --seeds 0,1 $(PEER_RUNS)

reproduce-sawei: $(VENV)/.stamp-lab ## SAWEI and the schedules that its paper compares it with, on both suites
	$(BIN)/pellucid reproduce sawei --suite bbob --out lab/results/sawei --jobs $(JOBS)
	$(BIN)/pellucid reproduce sawei --suite hpobench --out lab/results/sawei --jobs $(JOBS)

bench-stopping: $(VENV)/.stamp-lab ## what stopping early saves and costs, with two tolerances
	$(BIN)/pellucid bench stopping --out lab/results/sawei/stopping.jsonl --table lab/results/sawei/stopping.md \
	  --jobs $(JOBS)
	$(BIN)/pellucid bench stopping --tolerance 0.02 --out lab/results/sawei/stopping.jsonl \
	  --table lab/results/sawei/stopping-wide.md --jobs $(JOBS)

bench-report: $(VENV)/.stamp-lab ## seconds and megabytes of a report
	$(BIN)/pellucid bench report --table lab/results/report/cost.md
	$(BIN)/pellucid bench report --live 600 --table lab/results/report/live.md

bench-truth: $(VENV)/.stamp-lab ## are the answers true? errors and coverage on problems whose truth is known
	$(BIN)/pellucid bench truth --samplers pellucid,optuna-tpe,random --seeds 103-104 \
	  --out lab/results/truth/after.jsonl --table lab/results/truth/after.md --jobs $(JOBS)
	$(BIN)/pellucid bench truth --samplers optuna-gp --seeds 100 \
	  --problems valley,cliff,plateau,dominant,dummies,kernels,border,narrow,partners \
	  --out lab/results/truth/after.jsonl --table lab/results/truth/after.md --jobs $(JOBS)
	$(BIN)/pellucid bench truth --samplers pellucid,optuna-tpe,random --seeds 105 \
	  --out lab/results/truth/fresh.jsonl --table lab/results/truth/fresh.md --jobs $(JOBS)

bench-constrained: $(VENV)/.stamp-lab ## best feasible values on problems with constraints
	$(BIN)/pellucid bench constrained --problems reported --seeds 100-109 \
	  --methods pellucid,optuna-gp,optuna-tpe,random --out lab/results/constrained/reported.jsonl \
	  --table lab/results/constrained/reported.md --jobs $(JOBS)

bench-moo: $(VENV)/.stamp-lab ## dominated volume on problems with several objectives
	$(BIN)/pellucid bench moo --problems reported --seeds 100-109 \
	  --methods pellucid,optuna-gp,optuna-tpe,optuna-nsga2,random --out lab/results/moo/reported.jsonl \
	  --table lab/results/moo/reported.md --jobs $(JOBS)

bench-curves: $(VENV)/.stamp-lab ## regret by epochs of samplers with pruners, on trainings that can be stopped early
	@sh tools/ensure.sh openmp
	$(BIN)/pellucid bench curves --problems reported --samplers pellucid,optuna-tpe --seeds 100-104 \
	  --out lab/results/curves/reported.jsonl --table lab/results/curves/reported.md --jobs $(JOBS)
	$(BIN)/pellucid bench curves --problems trainings --samplers pellucid,optuna-tpe --seeds 100-104 \
	  --pruners none,curve,curve-20,curve-100,wilcoxon,median-5,hyperband \
	  --out lab/results/curves/reported.jsonl --table lab/results/curves/reported.md --jobs $(JOBS)
	$(BIN)/pellucid bench curves --problems lcbench-34539,lcbench-167104,lcbench-167149 --seeds 100 \
	  --samplers optuna-gp,pellucid --pruners none,median-5,curve \
	  --out lab/results/curves/gp.jsonl --table lab/results/curves/gp.md --jobs $(JOBS)

bench-forecasts: $(VENV)/.stamp-lab ## are predictions of learning curves true? chances, intervals and winners that were stopped
	@sh tools/ensure.sh openmp
	@for set in reported trainings; do \
	  $(BIN)/pellucid bench forecasts --problems $$set --out lab/results/curves/forecasts.jsonl \
	    --table lab/results/curves/forecasts.md --jobs $(JOBS) || exit 1; done

bench-pruning: $(VENV)/.stamp-lab ## milliseconds of should_prune on SQLite, and of asks with learning curves
	$(BIN)/pellucid bench pruning --table lab/results/curves/pruning.md

bench-faults: $(VENV)/.stamp-lab ## what a study survives: kills, full disks, restarts, changed receipts, models and names
	@sh tools/ensure.sh postgres
	$(BIN)/pellucid bench faults --out lab/results/faults/faults.jsonl --table lab/results/faults/faults.md --jobs $(JOBS)

bench-engines: $(VENV)/.stamp-lab $(VENV)/.stamp-engines ## trials per second of many workers, and what is lost (on an idle machine)
	@sh tools/ensure.sh postgres
	@sh tools/ensure.sh mariadb
	$(BIN)/pellucid bench engines --out lab/results/faults/engines.jsonl --table lab/results/faults/engines.md

bench-running: $(VENV)/.stamp-lab ## milliseconds per ask beside trials of dead workers
	$(BIN)/pellucid bench running --table lab/results/faults/running.md

bench-fronts: $(VENV)/.stamp-lab ## are answers about several objectives true? known fronts, and dense ones
	$(BIN)/pellucid bench fronts --problems reported --seeds 100-109 --out lab/results/fronts/reported.jsonl \
	  --table lab/results/fronts/reported.md --jobs $(JOBS)
	$(BIN)/pellucid bench dense-fronts --table lab/results/fronts/dense.md

bench-ranking: $(VENV)/.stamp-lab ## seconds of the ranking surrogate: ten members, an ask, meta-training
	$(BIN)/pellucid bench ranking --out lab/results/ranking/speed.md

bench-information: $(VENV)/.stamp-lab ## milliseconds per information step, beside EI
	$(BIN)/pellucid bench latency --n 50,100,200 --dim 8 --methods ei,information,bobax --no-full-run \
	  --table lab/results/bobax/latency.md

reproduce-bobax: $(VENV)/.stamp-lab ## BOBAX, its baselines, the coverage of bands, and a-BOBAX on tuned networks
	$(BIN)/pellucid reproduce bobax --out lab/results/bobax --jobs $(JOBS)

reproduce-shapley: $(VENV)/.stamp-lab ## Shapley explanations of proposals, beside the paper's tables
	$(BIN)/pellucid reproduce shapley --out lab/results/shapley --jobs $(JOBS)

reproduce-hsic: $(VENV)/.stamp-lab ## HSIC for a goal: the paper's examples, networks, and the search in two steps
	$(BIN)/pellucid reproduce hsic --out lab/results/hsic --jobs $(JOBS)

reproduce-ranking: $(VENV)/.stamp-lab ## learning from earlier studies: losses, contexts, tuning, and other surrogates
	$(BIN)/pellucid reproduce ranking --out lab/results/ranking --jobs $(JOBS)

# -------------------------------------------------------------------------------------------- cleaning

clean: ## remove caches, builds and what the demo wrote
	rm -rf build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache smac3_output
	rm -f demo.db demo.db-journal demo.db-shm demo.db-wal report.html
	find src lab tests examples -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean ## clean, and remove .venv and the environments of the peers
	rm -rf $(VENV) $(PEERS)
