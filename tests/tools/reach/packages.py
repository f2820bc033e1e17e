# Asks package managers' readers on which machines they would install a package with certain metadata. The argument is a JSON
# file with a list of questions. For each question, prints a list with a boolean for each machine.

import json
import os
import sys

from rattler import MatchSpec, PackageRecord, VirtualPackage, VirtualPackageOverrides
from variantlib.models.variant import VariantProperty
from variantlib.resolver.lib import filter_variants
from variantlib.variant_dist_info import VariantDistInfo


# The virtual packages that conda's reader finds if variables pretend that the machine has these GPUs.
def virtual_packages(overrides):
    for name in [name for name in os.environ if name.startswith("CONDA_OVERRIDE_")]:
        del os.environ[name]
    os.environ.update(overrides)
    for package in VirtualPackage.detect(VirtualPackageOverrides.from_env()):
        package = package.into_generic()
        name, build = package.name.normalized, package.build_string
        yield PackageRecord(name=name, version=str(package.version), build=build, build_number=0, subdir="noarch")


def conda(requirements, overrides):
    machine = list(virtual_packages(overrides))
    return all(any(MatchSpec(it).matches(package) for package in machine) for it in requirements)


# PEP 825 does not specify how installers find the plugins for machines. This version of the reader needs their names here.
def with_providers(document):
    namespaces = document["default-priorities"]["namespace"]
    return document | {"providers": {name: {"requires": [f"{name}-variant-provider"]} for name in namespaces}}


def wheel(document, properties):
    info = VariantDistInfo(json.dumps(with_providers(document)))
    allowed = [VariantProperty.from_str(it) for it in properties]
    return bool(list(filter_variants([info.variant_desc], allowed)))


def answers(question):
    if "conda" in question:
        return [conda(question["conda"], machine) for machine in question["machines"]]
    return [wheel(question["wheel"], machine) for machine in question["machines"]]


with open(sys.argv[1]) as questions:
    json.dump([answers(question) for question in json.load(questions)], sys.stdout)
