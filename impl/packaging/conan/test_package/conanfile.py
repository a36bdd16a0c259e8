"""Builds the program of impl/install_test, which finds the package as anybody's does."""
import os

from conan import ConanFile
from conan.tools.cmake import CMake, cmake_layout


class Consumer(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeToolchain", "CMakeDeps"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self)

    def build(self):
        cmake = CMake(self)
        cmake.configure(build_script_folder=os.path.join("..", "..", "..", "install_test"))
        cmake.build()

    def test(self):
        program = os.path.join(self.cpp.build.bindir, "install_test")
        if not os.path.exists(program):
            raise FileNotFoundError(program)
