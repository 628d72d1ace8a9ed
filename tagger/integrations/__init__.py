"""Other worlds: Hugging Face, ONNX, Ray, HTTP, spaCy. The core does not need them."""
