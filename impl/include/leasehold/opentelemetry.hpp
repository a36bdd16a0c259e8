#pragma once

#include <chrono>
#include <functional>
#include <leasehold/lock_event.hpp>
#include <memory>
#include <set>
#include <utility>

namespace leasehold::inline v0_1 {
namespace detail {

/// A span that has lasted `took` by now, with what all of them say.
template <typename StartSpanOptions, typename Tracer>
void span(Tracer& tracer, const char* name, const LockEvent& event, const char* outcome,
          const char* error) {
  StartSpanOptions options;
  options.start_system_time = decltype(options.start_system_time)(
      std::chrono::time_point_cast<std::chrono::system_clock::duration>(
          std::chrono::system_clock::now() - event.took));
  options.start_steady_time =
      decltype(options.start_steady_time)(std::chrono::steady_clock::now() - event.took);
  const auto span = tracer->StartSpan(name, options);
  span->SetAttribute("leasehold.lock", event.lock.c_str());
  span->SetAttribute("leasehold.outcome", outcome);
  if (event.token) {
    span->SetAttribute("leasehold.fencing_token", event.token.to_string().c_str());
  }
  if (error != nullptr) span->SetAttribute("error.type", error);
  span->End();
}

}  // namespace detail

/// Spans of OpenTelemetry out of lock events, for `ProviderOptions::on_event`:
///
/// - `leasehold.acquire`, from an acquire call to its end: attribute `leasehold.outcome` is
///   an event by which a lock is acquired, or "gave_up"; the latter has the kind of error as
///   `error.type`.
/// - `leasehold.hold`, from the grant to the release or the loss: `leasehold.outcome` is "released"
///   or "lost"; `error.type` is the reason of a loss, or what the release found instead.
///
/// Both have `leasehold.lock`, and `leasehold.fencing_token` as text, since it exceeds 2^53. They
/// are made when they end, with the time of their beginning, on the provider's thread: they have no
/// parent, and a holding that goes on is not seen yet.
///
/// A template over the types of opentelemetry-cpp 1.x, so that this library needs no part of it;
/// Debian 12 does not package it. Hence it is tested with a tracer made for that, which has the
/// methods that are used here: StartSpan, SetAttribute and End.
/// Thread safety: for one provider; its events come one after the other.
///
///     auto tracer = opentelemetry::trace::Provider::GetTracerProvider()->GetTracer("shop");
///     options.on_event = leasehold::spans<opentelemetry::trace::StartSpanOptions>(tracer);
template <typename StartSpanOptions, typename Tracer>
[[nodiscard]] std::function<void(const LockEvent&)> spans(Tracer tracer) {
  using Kind = LockEvent::Kind;
  // Lost and not released yet: their holding has had its span.
  const auto lost = std::make_shared<std::multiset<std::pair<std::string, FencingToken>>>();
  return [tracer, lost](const LockEvent& event) {
    const auto of = std::pair(event.lock, event.token);
    const auto end = [&](const char* name, const char* error) {
      detail::span<StartSpanOptions>(tracer, name, event, to_string(event.kind), error);
    };
    switch (event.kind) {
      case Kind::acquired:
      case Kind::handed_over:
      case Kind::passed_on:
      case Kind::joined:
        return end("leasehold.acquire", nullptr);
      case Kind::gave_up: return end("leasehold.acquire", event.detail.c_str());
      case Kind::lost:
        lost->insert(of);
        return end("leasehold.hold", event.detail.c_str());
      case Kind::released: {
        const auto was_lost = lost->find(of);
        if (was_lost != lost->end()) {
          lost->erase(was_lost);
          return;
        }
        const bool well = event.detail == "released";
        return end("leasehold.hold", well ? nullptr : event.detail.c_str());
      }
      default: return;
    }
  };
}

}  // namespace leasehold
