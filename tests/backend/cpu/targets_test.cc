#include <dlfcn.h>
#include <gtest/gtest.h>
#include <hwy/targets.h>

namespace {

TEST(Targets, AreThoseOfHighwaysLibrary) {
  void* const library = dlopen("libhwy.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) GTEST_SKIP() << "libhwy1 is not installed";
  using Function = int64_t();
  auto* const own = reinterpret_cast<Function*>(dlsym(library, "_ZN3hwy16SupportedTargetsEv"));
  ASSERT_NE(own, nullptr);
  EXPECT_EQ(hwy::SupportedTargets(), own());
  dlclose(library);
}

}  // namespace
