"""Integrations with Hugging Face, ONNX, Ray, HTTP and spaCy, none of which the core needs."""
