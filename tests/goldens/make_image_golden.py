#!/usr/bin/env python3
"""Writes image_classifier.safetensors: a vision transformer (ViT) of PyTorch's own modules, in fp64.

The patches are a convolution (`Conv2d`), the layers `TransformerEncoder` with the norm first and GELU, the positions learned, and
the logits those of the mean state. The file holds the pixels of two images as 0 to 255 (rows, columns, channels), their labels, the
weights of the model under our names, the logits, the loss and its gradients (`grad/<name>`). `sizes` are d_model, heads, d_ff, layers,
classes, height, width, channels, patch, stride.

    python make_image_golden.py     # PyTorch and safetensors must be installed
"""

from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

from make_classifier_golden import our_names

D_MODEL, HEADS, D_FF, LAYERS, CLASSES = 12, 3, 20, 2, 4
HEIGHT, WIDTH, CHANNELS, PATCH, STRIDE = 8, 10, 3, 4, 2

if __name__ == "__main__":
    torch.manual_seed(20201022)
    torch.set_default_dtype(torch.float64)
    layer = torch.nn.TransformerEncoderLayer(D_MODEL, HEADS, D_FF, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
    encoder = torch.nn.TransformerEncoder(layer, LAYERS, norm=torch.nn.LayerNorm(D_MODEL), enable_nested_tensor=False)
    for parameter in encoder.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    patches = torch.nn.Conv2d(CHANNELS, D_MODEL, PATCH, STRIDE)
    count = ((HEIGHT - PATCH) // STRIDE + 1) * ((WIDTH - PATCH) // STRIDE + 1)
    places = torch.randn(count, D_MODEL, requires_grad=True)
    head = torch.nn.Linear(D_MODEL, CLASSES)
    pixels, labels = torch.randint(256, (2, HEIGHT, WIDTH, CHANNELS)), torch.tensor([3, 1])

    embedded = patches((pixels / 127.5 - 1).permute(0, 3, 1, 2)).flatten(2).transpose(1, 2)
    logits = head(encoder(embedded + places).mean(1))
    loss = F.cross_entropy(logits, labels, reduction="sum")
    loss.backward()

    def by_patch(weight):
        """A convolution's [features, channels, rows, columns] with the values of a patch in our order."""
        return weight.permute(0, 2, 3, 1).flatten(1)

    own = {"embed_positions.weight": places, "classifier.weight": head.weight, "classifier.bias": head.bias,
           "encoder.embed_patches.bias": patches.bias}
    layers = {name.replace("encoder.norm.", "encoder.layer_norm."): tensor for name, tensor in our_names(encoder).items()}
    weights = {**layers, **own, "encoder.embed_patches.weight": by_patch(patches.weight)}
    goldens = {"sizes": torch.tensor([D_MODEL, HEADS, D_FF, LAYERS, CLASSES, HEIGHT, WIDTH, CHANNELS, PATCH, STRIDE], dtype=torch.int32),
               "pixels": pixels.flatten().int(), "labels": labels.int(), "logits": logits, "loss": loss.reshape(1), **weights,
               **{f"grad/{name}": tensor.grad for name, tensor in own.items()},
               "grad/encoder.embed_patches.weight": by_patch(patches.weight.grad)}
    goldens = {name: tensor.detach().contiguous().clone() for name, tensor in goldens.items()}
    save_file(goldens, Path(__file__).with_name("image_classifier.safetensors"))
