# The formula for Homebrew. `make release-check` writes it with the version and the digest of the source archive; then
# `brew update-python-resources opwright` adds the packages that it depends on.
class Opwright < Formula
  include Language::Python::Virtualenv

  desc "Compiles operator schemas into the glue that PyTorch needs around each operator"
  homepage "https://github.com/opwright/opwright"
  url "https://pypi.org/packages/source/o/opwright/opwright-VERSION.tar.gz"
  sha256 "SHA256"
  license "BSD-3-Clause"

  depends_on "libyaml"
  depends_on "python@3.13"

  def install
    virtualenv_install_with_resources
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/opwright --version")
    system bin/"opwright", "new", "library", "my_ops", "my_ops"
    assert_path_exists testpath/"my_ops/operators.yaml"
  end
end
