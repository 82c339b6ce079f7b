# Prints the seconds of one ranger fit, timed inside R, and its out-of-bag score.
# Rscript ranger_fit.R table.csv classes trees mtry threads splitrule seed
arguments <- commandArgs(trailingOnly = TRUE)
suppressPackageStartupMessages(library(ranger))
table <- if (grepl("[.]rds$", arguments[1])) readRDS(arguments[1]) else read.csv(arguments[1])
x <- table[, -ncol(table)]
y <- table[, ncol(table)]
if (as.integer(arguments[2]) > 0) y <- factor(y)
if (arguments[6] == "prepare") {
  saveRDS(table, sub("[.]csv$", ".rds", arguments[1]))
} else {
  splitrule <- if (arguments[6] == "extratrees") "extratrees" else NULL
  seconds <- system.time(
    forest <- ranger(
      x = x, y = y, num.trees = as.integer(arguments[3]), mtry = as.integer(arguments[4]),
      num.threads = as.integer(arguments[5]), splitrule = splitrule, seed = as.integer(arguments[7])
    )
  )[["elapsed"]]
  score <- if (is.factor(y)) 1 - forest$prediction.error else forest$r.squared
  cat(seconds, score, as.character(packageVersion("ranger")), "\n")
}
