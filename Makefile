# Two commands set everything up on a machine with Python, g++ and make: `make demo` and `make test`.
# OFFLINE=1 downloads nothing and uses the packages that $(PYTHON) already has. CUDA=1, CUDA=0: with, without GPU code,
# instead of where a driver answers. JOBS=N: so many compilers at once, instead of as many as cores and memory bear.
PYTHON ?= python3
OFFLINE ?=
offline := $(if $(OFFLINE),--offline)
export CUDA JOBS

.PHONY: demo test docs wheel deps format clean

demo:  ## the main job on the New York road network
	@$(PYTHON) tools/bootstrap.py $(offline)
	.venv/bin/laneway sssp data/USA-road-d.NY.gr.gz --source 1 --verify

test:  ## build and run all checks and tests
	@$(PYTHON) tools/bootstrap.py --tests $(offline)
	@.venv/bin/python tools/run_tests.py

docs:  ## the documentation site, in build/site; compiles nothing
	@$(PYTHON) tools/bootstrap.py --docs $(offline)
	@NO_MKDOCS_2_WARNING=1 .venv/bin/python -m mkdocs build --strict
	@echo "-- the documentation is in build/site/index.html"

wheel:  ## the Python package, compiled, in dist/: for machines without a compiler
	@$(PYTHON) tools/bootstrap.py --whole $(offline)
	@.venv/bin/python tools/make_wheel.py

deps:  ## libraries for a machine without network into build/deps, to be taken there with the sources
	@$(PYTHON) tools/bootstrap.py --deps

format:  ## lay out all sources as the checks want them
	@$(PYTHON) tools/bootstrap.py --tests $(offline)
	.venv/bin/clang-format -i $$(git ls-files --cached --others --exclude-standard '*.hpp' '*.cpp' '*.cu' '*.cuh')
	.venv/bin/ruff format python examples tests tools
	.venv/bin/ruff check --fix python examples tests tools

clean:  ## forget the build and the virtual environment
	rm -rf build .venv .mypy_cache .ruff_cache .pytest_cache
