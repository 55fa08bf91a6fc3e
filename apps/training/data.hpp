// What is trained on, and what comes of it: checks, and parts of the batch. Host, without a job.
#pragma once

#include "training/network_shape.hpp"

namespace laneway::apps {

/// A PE's part of the batch.
struct batch_share {
    std::vector<float> units;    ///< [sample][unit], of which the inputs are set
    std::vector<float> targets;  ///< [sample][output]

    batch_share(const network_shape& shape, const training_data& data, int pe);
};

/// Throws usage_error for data of other sizes than the options'.
void require_fit(const training_options& options, const training_data& data);
/// Throws usage_error where the loss of a step is not finite.
void require_finite(const std::vector<double>& losses);

/// The loss of a step, of the squares of all samples in their order.
double loss_of(const std::vector<double>& squares);

}  // namespace laneway::apps
