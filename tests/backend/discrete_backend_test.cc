// The backend that tests run on to prove that host and device memory are told apart must itself tell them
// apart.
#include "discrete_backend.h"

#include <gtest/gtest.h>

#include <csignal>

#include "backend/matrix.h"
#include "error_message.h"
#include "ops/tensor.h"

namespace sixfold {
namespace {

struct DiscreteMemoryTest : testing::Test {
  Tensor tensor(const std::vector<float>& values) const {
    Tensor t(lasting_memory(backend), 1, std::ssize(values), DType::f32);
    t.copy_from(*backend, values);
    return t;
  }
  std::shared_ptr<DiscreteBackend> backend = std::make_shared<DiscreteBackend>();
};

TEST_F(DiscreteMemoryTest, HoldsWhatIsUploadedAndComputed) {
  const Tensor a = tensor({1, 2, 3}), b = tensor({10, 20, 30});
  backend->run(kernel::Add{a.view(), a.view(), b.view()});
  EXPECT_EQ(a.to_floats(*backend), (std::vector<float>{11, 22, 33}));
  EXPECT_EQ(backend->downloads(), 1);
  EXPECT_EQ(b.to_floats(*backend->sibling()), (std::vector<float>{10, 20, 30}));
}

TEST_F(DiscreteMemoryTest, RefusesTheHostsMemoryByKernelAndField) {
  const Tensor a = tensor({1, 2, 3});
  Matrix<float> host{{1, 2, 3}};
  const std::vector<int32_t> ids{0};
  const auto refusal = [&](KernelCall call) { return error_message([&] { backend->run(call); }); };
  EXPECT_EQ(refusal(kernel::Add{a.view(), a.view(), host.view()}), "add: b is not in the backend's memory");
  EXPECT_EQ(refusal(kernel::Fill{host.view(), 0}), "fill: out is not in the backend's memory");
  EXPECT_EQ(refusal(kernel::GatherRows{a.view(), a.view(), operand(ids)}),
            "gather_rows: rows is not in the backend's memory");
  EXPECT_EQ(refusal(kernel::Matmul{
                .result = a.view(), .a = a.view(), .b = a.view(), .epilogue = {.bias = host.view()}}),
            "matmul: epilogue.bias is not in the backend's memory");
  EXPECT_EQ(error_message([&] { backend->pack(host.view(), true, nullptr); }),
            "pack: b is not in the backend's memory");
  EXPECT_EQ(error_message([&] { backend->upload(host.view().data, std::as_bytes(std::span(ids))); }),
            "upload: the target is not in the backend's memory");
}

TEST_F(DiscreteMemoryTest, RefusesWhatIsFreedAndWhatLiesBeyondTheEnd) {
  void* data = backend->allocate(4096);
  View view{data, DType::f32, 1, 1024, 1024};
  backend->run(kernel::Fill{view, 1});
  ++view.cols;
  EXPECT_EQ(error_message([&] {
              backend->run(kernel::Fill{view, 1});
            }),
            "fill: out is not in the backend's memory");
  --view.cols;
  backend->free(data, 4096);
  EXPECT_EQ(error_message([&] {
              backend->run(kernel::Fill{view, 1});
            }),
            "fill: out is not in the backend's memory");
}

using DiscreteMemoryDeathTest = DiscreteMemoryTest;

TEST_F(DiscreteMemoryDeathTest, FaultsWhereTheHostTouchesIt) {
  const Tensor a = tensor({1, 2, 3});
  const auto touch = [&](bool write) {
    std::signal(SIGSEGV, SIG_DFL);  // sanitizers have a handler of their own
    volatile float* element = a.view().as<float>();
    if (write)
      *element = 1;
    else
      static_cast<void>(*element);
  };
  EXPECT_EXIT(touch(false), testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(touch(true), testing::KilledBySignal(SIGSEGV), "");
}

}  // namespace
}  // namespace sixfold
