"""Dropout as `Dropout` in src/backend/kernels.h describes it, with the random bits of Philox in src/base/random.h."""

import torch


def philox(counter, key):
    """Philox4x32-10 (Salmon et al. 2011): four words of 32 bits from a counter of four and a key of two."""
    (c0, c1, c2, c3), (k0, k1), word = counter, key, 0xFFFFFFFF
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = p1 >> 32 ^ c1 ^ k0, p1 & word, p0 >> 32 ^ c3 ^ k1, p0 & word
        k0, k1 = k0 + 0x9E3779B9 & word, k1 + 0xBB67AE85 & word
    return c0, c1, c2, c3


# Known answers of the authors' library Random123.
assert philox((0, 0, 0, 0), (0, 0)) == (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)
assert philox((0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0)) == (
    0xD16CFE09,
    0x94FDCCEB,
    0x5001E420,
    0x24126EA1,
)


class Dropout:
    """What dropout multiplies the elements of a sentence with. Each call is a module of its own, numbered from 0 in
    the order of the forward pass; a rate of 0 takes no number."""

    def __init__(self, sizes, seed, update, sample):
        self.rates = {use: sizes[use] for use in ("dropout", "attention_dropout", "activation_dropout")}
        self.key = seed & 0xFFFFFFFF, update
        self.sample = sample
        self.modules = 0

    def mask(self, module, threshold, length, features):
        """[length, features]: of the tokens of the sentence in order."""
        keep = 65536 / (65536 - threshold)
        rows = []
        for position in range(length):
            halves = []
            for block in range((features + 7) // 8):
                for word in philox((block, position, self.sample, module), self.key):
                    halves += [word & 0xFFFF, word >> 16]
            rows.append([0.0 if half < threshold else keep for half in halves[:features]])
        return torch.tensor(rows, dtype=torch.float64)

    def __call__(self, x, use="dropout"):
        """x: [length, features], or attention weights [heads, queries, keys]."""
        threshold = round(self.rates[use] * 65536)
        if threshold == 0:
            return x
        module = self.modules
        self.modules += 1
        if x.dim() == 2:
            return x * self.mask(module, threshold, *x.shape).to(x.dtype)
        heads = [self.mask(module + (head << 20), threshold, *x.shape[1:]) for head in range(len(x))]
        return x * torch.stack(heads).to(x.dtype)
