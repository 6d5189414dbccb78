#!/usr/bin/env python3
"""Writes captioner.safetensors: a decoder of captions over a vision transformer (ViT), of PyTorch's own modules, in fp64.

The patches are a convolution (`Conv2d`), the layers `TransformerEncoder` and `TransformerDecoder` with the norm first and GELU. Both
sides have one table of learned positions; the embedding of the target is the output projection too, and the first input of the decoder
is an embedding of zeros. The file holds the pixels of two images as 0 to 255 (rows, columns, channels), their captions (`captions`,
`offsets`), the weights of the model under our names, the logits of all tokens and end tokens, the summed loss and some gradients
(`grad/<name>`). `sizes` are d_model, heads, d_ff, layers, vocabulary, height, width, channels, patch, stride, positions.

    python make_caption_golden.py     # PyTorch and safetensors must be installed
"""

import math
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

from make_classifier_golden import our_names

D_MODEL, HEADS, D_FF, LAYERS, VOCABULARY, POSITIONS = 12, 3, 20, 2, 9, 14
HEIGHT, WIDTH, CHANNELS, PATCH, STRIDE = 6, 10, 3, 4, 2
END = 2
CAPTIONS = [[3, 8, 4], [5, 5, 7, 6, 3]]


def our_decoder_names(decoder):
    """The decoder's parameters under our names; attention to the encoder is PyTorch's `multihead_attn`."""
    names = {}
    for name, tensor in decoder.named_parameters():
        name = "decoder." + name.replace("multihead_attn", "encoder_attn").replace("linear1", "fc1").replace("linear2", "fc2")
        name = name.replace("norm1", "self_attn_layer_norm").replace("norm2", "encoder_attn_layer_norm")
        name = name.replace("norm3", "final_layer_norm").replace("decoder.norm.", "decoder.layer_norm.")
        if "in_proj_" not in name:
            names[name] = tensor
            continue
        for part, rows in zip("qkv", tensor.chunk(3)):
            names[name.replace("in_proj_", f"{part}_proj.")] = rows
    return names


if __name__ == "__main__":
    torch.manual_seed(20150218)
    torch.set_default_dtype(torch.float64)
    options = dict(dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
    encoder = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(D_MODEL, HEADS, D_FF, **options), LAYERS,
                                          norm=torch.nn.LayerNorm(D_MODEL), enable_nested_tensor=False)
    decoder = torch.nn.TransformerDecoder(torch.nn.TransformerDecoderLayer(D_MODEL, HEADS, D_FF, **options), LAYERS,
                                          norm=torch.nn.LayerNorm(D_MODEL))
    for parameter in (*encoder.parameters(), *decoder.parameters()):
        torch.nn.init.normal_(parameter, std=0.4)
    patches = torch.nn.Conv2d(CHANNELS, D_MODEL, PATCH, STRIDE)
    places = torch.randn(POSITIONS, D_MODEL, requires_grad=True)
    embedding = torch.randn(VOCABULARY, D_MODEL, requires_grad=True)
    pixels = torch.randint(256, (len(CAPTIONS), HEIGHT, WIDTH, CHANNELS))

    embedded = patches((pixels / 127.5 - 1).permute(0, 3, 1, 2)).flatten(2).transpose(1, 2)
    memory = encoder(embedded + places[: embedded.shape[1]])
    logits = []
    for caption, own in zip(CAPTIONS, memory):
        before = torch.cat([torch.zeros(1, D_MODEL), math.sqrt(D_MODEL) * embedding[caption]]) + places[: len(caption) + 1]
        mask = torch.nn.Transformer.generate_square_subsequent_mask(len(before))
        logits.append(decoder(before[None], own[None], tgt_mask=mask)[0] @ embedding.T)
    logits = torch.cat(logits)
    labels = torch.tensor([token for caption in CAPTIONS for token in (*caption, END)])
    loss = F.cross_entropy(logits, labels, reduction="sum")
    loss.backward()

    def by_patch(weight):
        """A convolution's [features, channels, rows, columns] with the values of a patch in our order."""
        return weight.permute(0, 2, 3, 1).flatten(1)

    own = {"embed_positions.weight": places, "decoder.embed_tokens.weight": embedding, "encoder.embed_patches.bias": patches.bias}
    layers = {name.replace("encoder.norm.", "encoder.layer_norm."): tensor for name, tensor in our_names(encoder).items()}
    weights = {**layers, **our_decoder_names(decoder), **own, "encoder.embed_patches.weight": by_patch(patches.weight)}
    goldens = {"sizes": torch.tensor([D_MODEL, HEADS, D_FF, LAYERS, VOCABULARY, HEIGHT, WIDTH, CHANNELS, PATCH, STRIDE, POSITIONS],
                                     dtype=torch.int32),
               "pixels": pixels.flatten().int(), "captions": torch.tensor(sum(CAPTIONS, [])).int(),
               "offsets": torch.tensor([0, *map(len, CAPTIONS)]).cumsum(0).int(), "logits": logits, "loss": loss.reshape(1), **weights,
               **{f"grad/{name}": tensor.grad for name, tensor in own.items()},
               "grad/encoder.embed_patches.weight": by_patch(patches.weight.grad)}
    goldens = {name: tensor.detach().contiguous().clone() for name, tensor in goldens.items()}
    save_file(goldens, Path(__file__).with_name("captioner.safetensors"))
