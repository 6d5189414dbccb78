// Requests that share a batch, and the queue that they wait in.
#include "runtime/running_batch.h"

#include <gtest/gtest.h>

#include <map>

#include "error_message.h"
#include "runtime/search.h"
#include "search/plain_beam_search.h"
#include "search/random_model.h"

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
  std::unique_ptr<Request> request(const SearchOptions& options, Ids source, size_t index, uint64_t call = 0) {
    auto request = SearchRequests(model_.config(), options).make(std::move(source), sink_, index);
    request->call = call;
    return request;
  }
  void run() {
    while (batch_.step() || !queue_.empty()) {
    }
  }
  /// The indices of what a batch that holds so much gets.
  std::vector<size_t> taken(int64_t used, int64_t share = 1'000'000) {
    return taken({.used = used, .share = share});
  }
  std::vector<size_t> taken(const BatchRoom& room) {
    std::vector<size_t> indices;
    RequestQueue::Requests requests;
    queue_.take(room, requests);
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
  const SearchOptions options = options_of(1, 20);
  for (const auto& [length, index] : std::map<int, size_t>{{3, 0}, {4, 1}, {5, 2}, {30, 3}})
    queue_.push(request(options, Ids(static_cast<size_t>(length), eos), index));
  EXPECT_EQ(queue_.tokens(), 42);
  EXPECT_EQ(taken(16), Indices{});  // nearly full
  EXPECT_EQ(taken(10, 2), Indices{});
  EXPECT_EQ(taken(10), (Indices{0, 1}));  // seven of ten; the third has five
  EXPECT_EQ(taken(2, 4), Indices{});      // five are more than its share
  EXPECT_EQ(taken(2, 5), Indices{2});
  EXPECT_EQ(taken(6), Indices{});      // thirty count as fifteen
  EXPECT_EQ(taken(0, 1), Indices{3});  // an empty batch gets one, whatever its length
  EXPECT_TRUE(queue_.empty());
  EXPECT_EQ(queue_.tokens(), 0);
}

TEST_F(RunningBatchTest, ARequestThatDoesNotFitHoldsUpNoOtherCall) {
  queue_.push(request(options_of(1, 40), Ids(40, eos), 0, 1));
  queue_.push(request(options_of(1, 40), {4, eos}, 1, 2));
  EXPECT_EQ(taken({.used = 2, .used_by_long = 30}), Indices{1});  // a quarter is left to short ones
  EXPECT_EQ(taken(10), Indices{0});
}

TEST_F(RunningBatchTest, LongRequestsLeaveAQuarterToShortOnes) {
  const SearchOptions options = options_of(1, 40);
  queue_.push(request(options, Ids(300, eos), 0, 1));
  for (size_t i = 1; i < 8; ++i) queue_.push(request(options, {4, eos}, i, i + 1));
  EXPECT_EQ(taken(0), (Indices{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(taken({.used = 10, .used_by_long = 30}), Indices{});
  EXPECT_EQ(taken({.used = 6, .used_by_long = 30}), (Indices{6, 7}));
}

/// Short requests come for ever, and each time one of them would fit. The long one gets its room.
TEST_F(RunningBatchTest, ALongRequestGetsRoomHoweverManyShortOnesCome) {
  const SearchOptions options = options_of(1, 40);
  size_t next = 2;
  const auto shorts = [&](int count) {
    for (int i = 0; i < count; ++i, ++next) queue_.push(request(options, Ids(5, eos), next, next), "short");
  };
  shorts(16);
  EXPECT_EQ(taken(0).size(), 8u);
  queue_.push(request(options, Ids(300, eos), 0, 0), "long");
  queue_.push(request(options, Ids(20, eos), 1, 1), "longer");
  EXPECT_EQ(taken(30).size(), 1u);  // then it is its turn
  EXPECT_EQ(taken(30), Indices{});  // as long as it waits, the short ones have a quarter
  shorts(8);
  EXPECT_EQ(taken(15), Indices{});  // also the other long one, for which there is room, waits
  EXPECT_EQ(taken(10), Indices{0});
  EXPECT_EQ(taken({.used = 5, .used_by_long = 30}).size(), 1u);
}

/// What counts is the work, and not the number of requests; and it is remembered while others wait.
TEST_F(RunningBatchTest, WhoAsksForMuchWaitsForThoseWhoAskForLittle) {
  const SearchOptions options = options_of(1, 400);
  for (size_t i = 0; i < 3; ++i) queue_.push(request(options, Ids(10, eos), i, 1), "much");
  for (size_t i = 10; i < 30; ++i) queue_.push(request(options, Ids(2, eos), i, 2), "little");
  EXPECT_EQ(taken(0, 10), Indices{0});
  queue_.withdraw(1);
  queue_.push(request(options, Ids(10, eos), 3, 3), "much");
  EXPECT_EQ(taken(0, 12), (Indices{10, 11, 12, 13, 14, 15}));
  EXPECT_EQ(taken(0, 14), (Indices{3, 16, 17}));
}

/// A call with many requests beside calls that come, have one request, and are replaced by others: all are of
/// one client, or each is of its own. The call is served as much as one of the others.
TEST_F(RunningBatchTest, NewcomersHoldUpNobody) {
  for (const bool own_names : {false, true}) {
    const SearchOptions options = options_of(1, 400);
    const size_t many = 100, others = 20, turns = 840;
    for (size_t i = 0; i < many; ++i) queue_.push(request(options, Ids(5, eos), i, 1), "many");
    size_t next = many;
    const auto come = [&] {
      queue_.push(request(options, Ids(5, eos), next, next), own_names ? fmt::format("{}", next) : "many");
      ++next;
    };
    size_t served = 0;
    ASSERT_EQ(taken(0, 200).size(), 40u);  // when it is alone
    for (size_t i = 0; i < others; ++i) come();
    for (size_t turn = 0; turn < turns; ++turn) {
      const std::vector<size_t> one = taken(0, 5);
      ASSERT_EQ(one.size(), 1u);
      if (one[0] < many)
        ++served;
      else
        come();
    }
    const double even = static_cast<double>(turns) / static_cast<double>(others + 1);
    EXPECT_GE(static_cast<double>(served), even - 2) << own_names;
    queue_.withdraw(1);
    while (!taken(0).empty()) {
    }
  }
}

TEST_F(RunningBatchTest, ABatchMayHoldRequestsOfOneCall) {
  for (size_t i = 0; i < 4; ++i) queue_.push(request(options_of(1), {4, eos}, i, i % 2));
  RequestQueue::Requests requests;
  queue_.take({.call = 1}, requests);
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

TEST_F(RunningBatchTest, CallsTakeTurns) {
  for (size_t i = 0; i < 4; ++i) queue_.push(request(options_of(1), {4, eos}, i, 1));
  queue_.push(request(options_of(1), {4, eos}, 10, 2));
  queue_.push(request(options_of(1), {4, eos}, 20, 3));
  EXPECT_EQ(queue_.tokens(1), 8);
  EXPECT_EQ(queue_.tokens(2), 2);
  EXPECT_EQ(queue_.tokens(4), 0);
  EXPECT_EQ(taken(0), (Indices{0, 10, 20, 1, 2, 3}));
}

/// Whoever makes many calls at once gets no more than others.
TEST_F(RunningBatchTest, ClientsTakeTurnsAndThenTheirCalls) {
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
