"""The library for C++ and the one for C, from these sources."""
import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load


class Leasehold(ConanFile):
    name = "leasehold"
    description = "A distributed lock for MongoDB"
    license = "Apache-2.0"
    topics = ("mongodb", "lock", "mutex", "semaphore", "leader-election")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False]}
    default_options = {"shared": False}

    @property
    def _sources(self):
        return os.path.join(self.recipe_folder, "..", "..", "..")

    def set_version(self):
        changelog = load(self, os.path.join(self._sources, "CHANGELOG.md"))
        self.version = re.search(r"^## \[(\d+\.\d+\.\d+)", changelog, re.MULTILINE)[1]

    def export_sources(self):
        for file in ("CHANGELOG.md", "CMakeLists.txt", "LICENSE", "impl/*"):
            copy(self, file, self._sources, self.export_sources_folder)

    def validate(self):
        check_min_cppstd(self, 20)

    def requirements(self):
        self.requires("mongo-c-driver/[>=1.23 <3]")

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables.update(LEASEHOLD_LAB=False, LEASEHOLD_COMMAND=False)
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()

    def package_info(self):
        self.cpp_info.set_property("cmake_find_mode", "none")  # it has a configuration of its own
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "leasehold")]
        self.cpp_info.libs = ["leasehold", "leasehold_c"]
