// A training step in several styles of communication, one file a style: a multi-layer perceptron, data-parallel, whose
// gradients are reduced layer by layer as they appear. What decides is how they come to those who add them up, and how
// the new weights come back.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "laneway/base/options.hpp"
#include "parallel/communication_style.hpp"

namespace laneway::apps {

struct training_options {
    options job;
    communication_style style = communication_style::triggered;
    std::vector<std::uint32_t> widths = {16, 32, 32, 4};  ///< inputs, hidden units of each layer, outputs
    std::uint32_t samples = 64;                           ///< of the batch; a multiple of 16
    std::uint32_t steps = 20;
    std::optional<float> rate;  ///< of descent; unless given, see rate_for
};

/// 4 / the widest layer's units: rectified units are not negative, so that the loss is the steeper the more there are.
/// With a fixed rate wide networks would diverge.
float rate_for(const std::vector<std::uint32_t>& widths);

/// What networks begin with, and learn from: the same for all styles and any number of PEs.
struct training_data {
    std::vector<float> weights;  ///< as in training_result
    std::vector<float> inputs;   ///< samples × inputs
    std::vector<float> targets;  ///< samples × outputs

    /// Throws usage_error for what cannot be.
    explicit training_data(const training_options& options);
};

struct training_result {
    std::vector<double> losses;  ///< of each step, before its update: half the mean of the squared errors
    std::vector<float> weights;  ///< after the last step; of each layer inputs × outputs, then the biases
    double seconds = 0;          ///< of all runs
    /// Of these, in which a warp was at the forward or backward pass, on average; in the others it was blocked on
    /// communication, of which adding up gradients and weights is a part.
    double computing_seconds = 0;
    std::uint64_t requests = 0;  ///< that a service has carried out; 0 in styles without one
};

/// Trains the network by gradient descent on one batch, whose targets are the outputs of another network of the same
/// widths. Hidden units are rectified, outputs linear. The bits are those of training_by_one on any number of PEs:
/// gradients of 16 shards of the batch are added in pairs, whoever computes them. Throws usage_error for what cannot
/// be, data of other sizes and a rate with which the loss grows beyond all floats included, and as runtime::run does.
training_result training(const training_options& options, const training_data& data);

/// The same by one thread of the host: the same bits.
training_result training_by_one(const training_options& options, const training_data& data);

}  // namespace laneway::apps
