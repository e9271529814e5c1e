"""Two ways to hand a sequence from an encoder to a decoder: one last state, or all states.

`FixedVector` passes the encoder's last state on and nothing else; `Attention` keeps every state and
passes on a weighted mean of them, made afresh for each token that is written.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from onehop.attention import additive_attention
from onehop.initialisation import uniform_


class EncoderDecoder(nn.Module):
    """A recurrent encoder reads source tokens, a recurrent decoder writes target tokens.

    What passes between them is the subclass's affair: `read` and `step` say it.
    """

    output: nn.Linear
    """The last layer of `step`, which gives the scores."""

    def __init__(self, source_tokens: int, target_tokens: int, end: int, width: int) -> None:
        """Register the two embeddings.

        Args:
            source_tokens: size of the source vocabulary.
            target_tokens: size of the target vocabulary.
            end: the target token that ends a sequence; the decoder also starts from it.
            width: width of embeddings and states.
        """
        super().__init__()
        self.end, self.width = end, width
        self.source = nn.Embedding(source_tokens, width)
        self.target = nn.Embedding(target_tokens, width)

    def read(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """Return what the decoder gets of source embeddings, `(batch, source_steps, width)`.

        Returns:
            Its first state, `(batch, width)`, and the states that it may read later,
            `(batch, readable, ...)`.
        """
        raise NotImplementedError

    def step(self, token: Tensor, s: Tensor, states: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Take in the embedding of the token before, `(batch, width)`.

        Returns:
            The next state, `(batch, width)`, the scores of all tokens, `(batch, target_tokens)`,
            and the weights given to the states, `(batch, readable)`.
        """
        raise NotImplementedError

    def forward(self, source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Score every next target token, given the right tokens before it.

        Args:
            source: tokens, `(batch, source_steps)`.
            target: tokens, `(batch, target_steps)`.

        Returns:
            Scores, `(batch, target_steps, target_tokens)`, and the weights that each target token
            gives to the states, `(batch, target_steps, readable)`.
        """
        s, states = self.read(self.source(source))
        start = torch.full_like(target[:, :1], self.end)
        scores, weights = [], []
        for token in self.target(torch.cat([start, target[:, :-1]], dim=1)).unbind(dim=1):
            s, step_scores, step_weights = self.step(token, s, states)
            scores.append(step_scores)
            weights.append(step_weights)
        return torch.stack(scores, dim=1), torch.stack(weights, dim=1)

    @torch.no_grad()
    def write(self, source: Tensor, limit: int) -> tuple[Tensor, Tensor]:
        """Write target tokens, always the likeliest next one, until each row holds the end.

        Args:
            source: tokens, `(batch, source_steps)`.
            limit: the most tokens to write.

        Returns:
            Tokens, `(batch, written)`, of which those behind a row's first end mean nothing, and
            the weights, `(batch, written, readable)`.
        """
        s, states = self.read(self.source(source))
        tokens, weights = [torch.full_like(source[:, 0], self.end)], []
        ended = torch.zeros(len(source), dtype=torch.bool)
        while len(weights) < limit and not ended.all():
            s, scores, step_weights = self.step(self.target(tokens[-1]), s, states)
            tokens.append(scores.argmax(dim=1))
            weights.append(step_weights)
            ended |= tokens[-1] == self.end
        return torch.stack(tokens[1:], dim=1), torch.stack(weights, dim=1)


class FixedVector(EncoderDecoder):
    """The decoder starts from the encoder's last state, and nothing else of the source reaches it.

    Sutskever et al. (2014, arXiv:1409.3215), section 2, with one layer and gated units.
    """

    def __init__(
        self, source_tokens: int, target_tokens: int, end: int, width: int, rng: np.random.Generator
    ) -> None:
        """Draw all weights, float64, from U(-1/sqrt(width), 1/sqrt(width))."""
        super().__init__(source_tokens, target_tokens, end, width)
        self.encoder = nn.GRU(width, width, batch_first=True)
        self.decoder = nn.GRUCell(width, width)
        self.output = nn.Linear(width, target_tokens)
        self.double()
        uniform_(self, width, rng)

    def read(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """Return the last state, and no states to read."""
        states, last = self.encoder(source)
        return last[0], states[:, :0]

    def step(self, token: Tensor, s: Tensor, states: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the next state, the scores, and weights of no states, `(batch, 0)`."""
        s = self.decoder(token, s)
        return s, self.output(s), states[:, :, 0]


class Attention(EncoderDecoder):
    """The decoder starts from zeros and reads the encoder's states by additive attention.

    Bahdanau et al. (2015, arXiv:1409.0473), section 3, made smaller: all that the decoder knows of
    the source has come through the weights, and one linear layer turns its state and the context
    into scores.
    """

    def __init__(
        self, source_tokens: int, target_tokens: int, end: int, width: int, rng: np.random.Generator
    ) -> None:
        """Draw all weights, float64, from U(-1/sqrt(width), 1/sqrt(width))."""
        super().__init__(source_tokens, target_tokens, end, width)
        self.encoder = nn.GRU(width, width, bidirectional=True, batch_first=True)
        self.decoder = nn.GRUCell(3 * width, width)
        self.W = nn.Parameter(torch.empty(width, width))
        self.U = nn.Parameter(torch.empty(width, 2 * width))
        self.v = nn.Parameter(torch.empty(width))
        self.output = nn.Linear(3 * width, target_tokens)
        self.double()
        uniform_(self, width, rng)

    def read(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """Return zeros, and all states, `(batch, source_steps, 2 * width)`."""
        states, _ = self.encoder(source)
        return states.new_zeros(len(states), self.width), states

    def step(self, token: Tensor, s: Tensor, states: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the next state, the scores, and the weights, `(batch, source_steps)`."""
        context, weights = additive_attention(s, states, self.W, self.U, self.v)
        s = self.decoder(torch.cat([token, context], dim=1), s)
        return s, self.output(torch.cat([s, context], dim=1)), weights


Kind = type[Attention] | type[FixedVector]
"""How a sequence reaches the decoder."""


def fit(
    model: EncoderDecoder, draw: Callable[[], tuple[Tensor, Tensor]], steps: int
) -> EncoderDecoder:
    """Train a model on the cross-entropy of the next target token, and return it.

    Adam takes steps of 0.005, and gradients are clipped at length 1.

    Args:
        model: changed in place.
        draw: returns the next batch: sources and targets, `(batch, steps)` each.
        steps: number of batches.
    """
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(steps):
        source, target = draw()
        scores, _ = model(source, target)
        loss = functional.cross_entropy(scores.flatten(0, 1), target.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return model
