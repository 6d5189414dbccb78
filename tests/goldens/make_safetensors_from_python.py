"""Writes safetensors_from_python.safetensors, which tests/formats/safetensors_test.cc reads: all element types."""
import os
import torch
from safetensors.torch import save_file

save_file(
    {
        "f16": torch.tensor([0, -0.0, 1, -1.5, 65504, 2.0**-14, 2.0**-24, 1 / 3], dtype=torch.float16),
        "f16_special": torch.tensor([float("inf"), float("-inf"), float("nan")], dtype=torch.float16),
        "bf16": torch.tensor([1, -2, 1 / 3, 3.3895e38], dtype=torch.bfloat16),
        "f64": torch.tensor([[0.1], [-1e30]], dtype=torch.float64),
        "f32": torch.tensor(0.5),
        "i64": torch.tensor([1, -1]),
        "i32": torch.tensor([7], dtype=torch.int32),
        "i8": torch.tensor([-128, 127, 0], dtype=torch.int8),
        "u8": torch.tensor([255], dtype=torch.uint8),
        "empty": torch.zeros(0, 3),
    },
    os.path.join(os.path.dirname(os.path.abspath(__file__)), "safetensors_from_python.safetensors"),
    metadata={"format": "pt"},
)
