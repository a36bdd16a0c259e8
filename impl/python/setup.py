"""What pyproject.toml cannot say: one wheel for every Python, but for this platform alone. The CMake target
python_wheel calls it, with the shared library in its place."""
import os

from setuptools import setup
from wheel.bdist_wheel import bdist_wheel


class PlatformWheel(bdist_wheel):
    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


setup(version=os.environ["LEASEHOLD_VERSION"], cmdclass={"bdist_wheel": PlatformWheel})
