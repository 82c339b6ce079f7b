# Makes data/ranger_power_independent.csv: out-of-bag scores of ranger over 400 forests.
# ranger seeds tree i of a forest with (i + 1) * seed, so forests with the seeds 1, 2, 3, ... share
# trees. Seeds drawn from all whole numbers do not.
# Run from the folder of this script: Rscript ranger_power.R
library(ranger)
n_forests <- 400
set.seed(20230425)
rows <- list()
for (name in c("interaction_1000x4", "four_classes_600x12")) {
  table <- read.csv(file.path("data", paste0(name, ".csv")))
  response <- if ("y" %in% names(table)) "y" else "class"
  y <- if (response == "y") table$y else factor(table$class)
  x <- table[, names(table) != response]
  for (splitrule in c("default", "extratrees")) {
    for (mtry in if (response == "y") c(1, 2, 4) else c(1, 3, 12)) {
      scores <- sapply(sample.int(.Machine$integer.max, n_forests), function(seed) {
        forest <- ranger(
          x = x, y = y, num.trees = 100, mtry = mtry, seed = seed,
          splitrule = if (splitrule == "default") NULL else splitrule
        )
        if (response == "y") forest$r.squared else 1 - forest$prediction.error
      })
      rows[[length(rows) + 1]] <- data.frame(
        data = name, splitrule = splitrule, mtry = mtry,
        measure = if (response == "y") "oob_r2" else "oob_accuracy",
        mean = mean(scores), sd = sd(scores), n = n_forests
      )
    }
  }
}
write.csv(do.call(rbind, rows), "data/ranger_power_independent.csv", row.names = FALSE)
