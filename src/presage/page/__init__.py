"""The page in the browser: a view that knows no model, and draws every one that declares its fields and observables."""
