// Requests that share a batch, and the queue that they wait in.
#include "generate/running_batch.h"

#include <gtest/gtest.h>

#include <map>

#include "error_message.h"
#include "generate/plain_beam_search.h"
#include "generate/random_model.h"
#include "generate/search.h"

namespace sixfold {
namespace {

/// Keeps what comes.
struct KeepingSink final : ResultSink {
  void done(size_t index, const DecodeWorkspace&, std::vector<Hypothesis> best_first) override {
    order.push_back(index);
    found[index] = std::move(best_first);
    if (index == throws_at) throw_input_error("the receiver is gone");
  }
  void failed(size_t index, std::exception_ptr error) noexcept override {
    errors[index] = error_message([&] { std::rethrow_exception(error); });
  }
  std::map<size_t, std::vector<Hypothesis>> found;
  std::map<size_t, std::string> errors;
  std::vector<size_t> order;
  size_t throws_at = SIZE_MAX;
};

SearchOptions options_of(int beam, int64_t batch_tokens = 4096) {
  SearchOptions options;
  options.rules.beam_size = options.n_best = beam;
  options.rules.length_offset = 5;
  options.batch_tokens = batch_tokens;
  return options;
}

class RunningBatchTest : public testing::Test {
 protected:
  std::unique_ptr<Request> request(const SearchOptions& options, Ids source, size_t index,
                                   uint64_t client = 0) {
    auto request = BeamRequests(model_.config(), options).make(std::move(source), sink_, index);
    request->client = client;
    return request;
  }
  void run() {
    while (batch_.step() || !queue_.empty()) {
    }
  }
  /// The indices of what a batch that holds so much gets.
  std::vector<size_t> taken(int64_t used, int64_t share = 1'000'000) {
    std::vector<size_t> indices;
    RequestQueue::Requests requests;
    queue_.take({.used = used, .share = share}, requests);
    for (const auto& request : requests) indices.push_back(request->index);
    return indices;
  }

  RandomModel model_{30, 5};
  KeepingSink sink_;
  RequestQueue queue_;
  RunningBatch batch_{model_, queue_};
};

using Indices = std::vector<size_t>;

TEST_F(RunningBatchTest, RequestsOfManyKindsShareABatch) {
  const auto sources = random_sources(12, 8, 30, 3);
  std::vector<SearchOptions> kinds{options_of(1), options_of(4), options_of(2)};
  kinds[1].rules.suppress_tokens = {7, 9};
  kinds[2].rules.min_new_tokens = 4;
  kinds[2].rules.renormalize_logits = true;
  for (size_t i = 0; i < sources.size(); ++i) queue_.push(request(kinds[i % 3], sources[i], i));
  run();
  ASSERT_EQ(sink_.found.size(), sources.size());
  for (size_t i = 0; i < sources.size(); ++i) {
    std::vector<Hypothesis> alone;
    search(model_, {sources[i]}, kinds[i % 3], [&](size_t, auto best) { alone = std::move(best); });
    const auto& together = sink_.found[i];
    ASSERT_EQ(together.size(), alone.size());
    for (size_t n = 0; n < alone.size(); ++n) {
      EXPECT_EQ(together[n].ids, alone[n].ids);
      EXPECT_EQ(together[n].score, alone[n].score);  // to the bit
    }
  }
}

TEST_F(RunningBatchTest, AnErrorFailsTheRequestAlone) {
  queue_.push(request(options_of(2), {4, 5, eos}, 0));
  ASSERT_TRUE(batch_.step());
  queue_.push(request(options_of(2), {99, eos}, 1));  // no token of the model
  batch_.step();
  EXPECT_NE(sink_.errors[1].find("source id 99"), std::string::npos) << sink_.errors[1];
  queue_.push(request(options_of(2), {6, eos}, 2));
  sink_.throws_at = 2;
  run();
  EXPECT_EQ(sink_.errors[2], "the receiver is gone");
  EXPECT_EQ(sink_.errors.size(), 2u);
  std::vector<Hypothesis> alone;
  search(model_, {{4, 5, eos}}, options_of(2), [&](size_t, auto best) { alone = std::move(best); });
  ASSERT_EQ(sink_.found[0].size(), alone.size());
  EXPECT_EQ(sink_.found[0][0].ids, alone[0].ids);
}

TEST_F(RunningBatchTest, WhatIsCancelledLeaves) {
  std::stop_source stop;
  SearchOptions cancelled = options_of(2);
  cancelled.cancel = stop.get_token();
  cancelled.rules.min_new_tokens = 5;
  queue_.push(request(cancelled, {4, 5, eos}, 0));
  queue_.push(request(options_of(2), {4, 5, eos}, 1));
  ASSERT_TRUE(batch_.step());
  queue_.push(request(cancelled, {4, eos}, 2));
  stop.request_stop();
  run();
  EXPECT_EQ(sink_.errors.size(), 2u);
  EXPECT_TRUE(sink_.errors.contains(0) && sink_.errors.contains(2));
  EXPECT_EQ(sink_.found.size(), 1u);
  EXPECT_EQ(batch_.take_ended().size(), 2u);  // of those that had entered
}

TEST_F(RunningBatchTest, AQueueGivesWhatFits) {
  const SearchOptions options = options_of(1, 6);
  for (const auto& [length, index] : std::map<int, size_t>{{2, 0}, {3, 1}, {4, 2}, {9, 3}})
    queue_.push(request(options, Ids(static_cast<size_t>(length), eos), index));
  EXPECT_EQ(queue_.tokens(), 18);
  EXPECT_EQ(taken(0), (Indices{0, 1}));  // five of six; the third has four
  EXPECT_EQ(taken(5), Indices{});        // nearly full
  EXPECT_EQ(taken(3), Indices{});        // four do not fit
  EXPECT_EQ(taken(2, 3), Indices{});     // but are more than its share
  EXPECT_EQ(taken(2, 4), Indices{2});
  EXPECT_EQ(taken(1), Indices{});
  EXPECT_EQ(taken(0, 1), Indices{3});  // an empty batch gets one, whatever its length
  EXPECT_TRUE(queue_.empty());
  EXPECT_EQ(queue_.tokens(), 0);
}

TEST_F(RunningBatchTest, ARequestThatDoesNotFitHoldsUpNoOtherClient) {
  queue_.push(request(options_of(1, 6), Ids(6, eos), 0, 1));
  queue_.push(request(options_of(1, 60), {4, eos}, 1, 2));
  EXPECT_EQ(taken(4), Indices{1});
  EXPECT_EQ(taken(0), Indices{0});
}

TEST_F(RunningBatchTest, ABatchMayBeOneClients) {
  for (size_t i = 0; i < 4; ++i) queue_.push(request(options_of(1), {4, eos}, i, i % 2));
  RequestQueue::Requests requests;
  queue_.take({.client = 1}, requests);
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0]->index, 1u);
  EXPECT_EQ(requests[1]->index, 3u);
  queue_.withdraw(0);
  EXPECT_TRUE(queue_.empty());
  EXPECT_EQ(queue_.tokens(), 0);
  EXPECT_EQ(sink_.errors.size(), 2u);
}

TEST_F(RunningBatchTest, WhoseSourceIsBadFailsAloneAmongThoseThatEnter) {
  queue_.push(request(options_of(2), {4, 5, eos}, 0));
  queue_.push(request(options_of(2), {99, eos}, 1));
  queue_.push(request(options_of(2), {6, eos}, 2));
  run();
  EXPECT_EQ(sink_.errors.size(), 1u);
  EXPECT_TRUE(sink_.errors.contains(1));
  EXPECT_EQ(sink_.found.size(), 2u);
}

TEST_F(RunningBatchTest, ClientsTakeTurns) {
  for (size_t i = 0; i < 4; ++i) queue_.push(request(options_of(1), {4, eos}, i, 1));
  queue_.push(request(options_of(1), {4, eos}, 10, 2));
  queue_.push(request(options_of(1), {4, eos}, 20, 3));
  EXPECT_EQ(queue_.tokens(1), 8);
  EXPECT_EQ(queue_.tokens(2), 2);
  EXPECT_EQ(queue_.tokens(4), 0);
  EXPECT_EQ(taken(0), (Indices{0, 10, 20, 1, 2, 3}));
}

/// Whoever makes many calls at once gets no more than others.
TEST_F(RunningBatchTest, CallersTakeTurnsAndThenTheirClients) {
  for (size_t i = 0; i < 6; ++i) queue_.push(request(options_of(1), {4, eos}, i, i % 3), "many");
  for (size_t i = 10; i < 12; ++i) queue_.push(request(options_of(1), {4, eos}, i, i), "two");
  queue_.push(request(options_of(1), {4, eos}, 20, 20), "one");
  EXPECT_EQ(queue_.tokens(2), 4);
  EXPECT_EQ(queue_.tokens(11), 2);
  EXPECT_EQ(taken(0, 4), (Indices{0, 10}));
  EXPECT_EQ(taken(0, 4), (Indices{20, 1}));
  queue_.withdraw(2);
  EXPECT_EQ(taken(0), (Indices{11, 3, 4}));
  EXPECT_TRUE(queue_.empty());
  EXPECT_EQ(queue_.tokens(), 0);
}

}  // namespace
}  // namespace sixfold
