"""Steps of fine-tuning: packed tokens, cached lower layers, [CLS] alone, against a plain transformers loop in one run.

    python benchmarks/training.py [demo|sst2|...] [--steps 12] [--layers 2 6]

Both sides train the same layers of MiniLM through TextHide on the same batches of 32 with AdamW. The plain side pads
its batches, runs the whole model and takes the first token, as the authors' training script does.
"""

from __future__ import annotations

import numpy as np
import torch
from measurement import Measurement, clock, counted, parser, report

from bench.encoders.transformers import MiniLM
from bench.plugins.registry import Registry
from bench.plugins.training import Finetuned
from bench.training.finetune import Finetuning, Job
from bench.training.judging import metrics_for
from bench.types import Examples


def job(dataset: str, layers: int, count: int) -> Job:
    data = Registry().make("dataset", dataset)
    train, dev = data.load("train"), data.load("dev")
    train = train.take(np.random.default_rng(0).permutation(len(train))[:count])
    options = Finetuned(epochs=1, layers=layers, dropout=0.0)
    defense = Registry().make("defense", "texthide")
    names = metrics_for(("accuracy",), train, dev)
    return Job(options, MiniLM(), train, dev, names, defense, "texthide", None, 0, ("benchmark",))


def plain_loop(run: Finetuning, batches: list[np.ndarray], layers: int) -> list[float]:
    """Seconds of each step."""
    from transformers import AutoModel, AutoTokenizer

    folder, train, defense = run.job.encoder.folder, run.job.train, run.job.defense
    network, tokenizer = AutoModel.from_pretrained(folder).train(), AutoTokenizer.from_pretrained(folder)
    for part in network.modules():
        if isinstance(part, torch.nn.Dropout):
            part.p = 0.0
    for parameter in network.parameters():
        parameter.requires_grad_(False)
    for block in network.encoder.layer[-layers:]:
        for parameter in block.parameters():
            parameter.requires_grad_(True)
    parts: list[torch.nn.Module] = []
    for _ in range(3):
        parts += [torch.nn.Linear(384, 384), torch.nn.ReLU()]
    head = torch.nn.Sequential(*parts, torch.nn.Linear(384, len(train.classes)))
    learning = [p for p in [*network.parameters(), *head.parameters()] if p.requires_grad]
    optimizer, rng = torch.optim.AdamW(learning, lr=1e-4), np.random.default_rng(0)
    seconds = []
    for rows in batches:
        start = clock()
        some: Examples = train.take(rows)
        batch = tokenizer(some.texts, padding=True, truncation=True, max_length=128, return_tensors="pt")
        vectors = network(**batch).last_hidden_state[:, 0]
        released, _ = defense.release(vectors, some.targets(), None, rng)
        loss = torch.nn.functional.cross_entropy(head(released.encodings), torch.as_tensor(released.labels))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(learning, 1.0)
        optimizer.step()
        seconds.append(clock() - start)
    return seconds


def measure(dataset: str, layers: int, steps: int) -> Measurement:
    run = Finetuning(job(dataset, layers, 32 * (steps + 4)), "cpu")
    batches = run.trainer.batches(0)[0][:steps]
    ours = []
    for turn in range(2):  # the second pass finds the lower layers' output, as every epoch but the first does
        for number, rows in enumerate(batches):
            start = clock()
            run.trainer.step([rows], turn * steps + number)
            if turn:
                ours.append(clock() - start)
    theirs = plain_loop(run, batches, layers)
    name = f"training {dataset}, top {layers} of 6 layers"
    slow, fast = float(np.median(theirs)), float(np.median(ours))
    flops = counted(lambda: run.trainer.step([batches[0]], 2 * steps))
    return Measurement(name, "plain transformers loop", slow, fast, flops=flops)


def main() -> None:
    options = parser(__doc__)
    options.add_argument("dataset", nargs="?", default="demo")
    options.add_argument("--steps", type=int, default=12)
    options.add_argument("--layers", type=int, nargs="+", default=[2, 6])
    args = options.parse_args()
    torch.set_num_threads(1)
    report([measure(args.dataset, layers, args.steps) for layers in args.layers], args.json)


if __name__ == "__main__":
    main()
