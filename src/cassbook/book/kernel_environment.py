"""Names of environment variables that the builder sets for the kernels that it starts."""

#: File that takes what kernels say on their standard error.
LOG_VARIABLE = "CASSBOOK_KERNEL_LOG"
#: Path of plotly.js from a page of the book; a notebook opened by hand carries it inline.
PLOTLY_VARIABLE = "CASSBOOK_PLOTLY_JS"
