"""Write a tiny chat model in MLX form, with random weights: `python make_mlx_chat.py OUT`.

A Gemma 4 that takes audio, at about 1 MB; it loads through the same classes as the real ones, and what it answers is noise,
always the same. Needs mlx-vlm.
"""

import json
import sys
from pathlib import Path
from typing import Any

import mlx.core as mx
from mlx.utils import tree_flatten, tree_map
from mlx_vlm.models import gemma4
from mlx_vlm.models.gemma4.config import AudioConfig, ModelConfig, TextConfig, VisionConfig
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

SPECIAL = (
    "<pad>",
    "<eos>",
    "<bos>",
    "<|turn>",
    "<turn|>",
    "<|audio>",
    "<|audio|>",
    "<audio|>",
    "<|image|>",
    "<|video|>",
)
PAD, END, AUDIO, IMAGE, VIDEO = 0, 1, 6, 8, 9
TEMPLATE = (
    "<bos>{% for message in messages %}<|turn>{{ message['role'] }}\n"
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}"
    "{% for part in message['content'] %}{% if part['type'] == 'audio' %}<|audio|>"
    "{% else %}{{ part['text'] }}{% endif %}{% endfor %}{% endif %}<turn|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|turn>model\n{% endif %}"
)
WIDTH, CONTEXT = 32, 2048


def _tokenizer() -> PreTrainedTokenizerFast:
    """One token for each byte, after the special ones."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: number for number, token in enumerate((*SPECIAL, *alphabet))}
    made = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(
        tokenizer_object=made,
        pad_token=SPECIAL[PAD],
        eos_token=SPECIAL[END],
        bos_token=SPECIAL[2],
        extra_special_tokens={
            "sot_token": SPECIAL[3],
            "eot_token": SPECIAL[4],
            "boa_token": SPECIAL[5],
            "audio_token": SPECIAL[AUDIO],
            "eoa_token": SPECIAL[7],
            "image_token": SPECIAL[IMAGE],
            "video_token": SPECIAL[VIDEO],
        },
    )


def _config() -> dict[str, Any]:
    layers = {"num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": WIDTH}
    text = {
        "model_type": "gemma4_text",
        **layers,
        "intermediate_size": 2 * WIDTH,
        "head_dim": 16,
        "global_head_dim": 16,
        "num_key_value_heads": 1,
        "num_kv_shared_layers": 0,
        "hidden_size_per_layer_input": 0,
        "vocab_size": len(_tokenizer()),
        "vocab_size_per_layer_input": len(_tokenizer()),
        "layer_types": ["sliding_attention", "full_attention"],
        "max_position_embeddings": CONTEXT,
        "use_double_wide_mlp": False,
    }
    vision = {
        "model_type": "gemma4_vision",
        **layers,
        "intermediate_size": WIDTH,
        "num_key_value_heads": 2,
        "head_dim": 16,
    }
    audio = {"model_type": "gemma4_audio", **layers, "subsampling_conv_channels": [8, 8], "output_proj_dims": WIDTH}
    return {
        "model_type": "gemma4",
        "text_config": text,
        "vision_config": vision | {"position_embedding_size": 64},
        "audio_config": audio,
        "vocab_size": text["vocab_size"],
        "hidden_size": WIDTH,
        "image_token_id": IMAGE,
        "audio_token_id": AUDIO,
        "video_token_id": VIDEO,
        "pad_token_id": PAD,
        "eos_token_id": [END],
    }


def write(folder: Path) -> Path:
    """The folder of the model, its weights as mlx-vlm writes them."""
    mx.random.seed(20261130)
    config = _config()
    model = gemma4.Model(
        ModelConfig(
            **{name: value for name, value in config.items() if not name.endswith("_config")},
            text_config=TextConfig.from_dict(config["text_config"]),
            vision_config=VisionConfig.from_dict(config["vision_config"]),
            audio_config=AudioConfig.from_dict(config["audio_config"]),
        )
    )
    weights = dict(tree_flatten(tree_map(lambda weight: weight.astype(mx.float32), model.parameters())))
    folder.mkdir(parents=True)
    mx.save_safetensors(str(folder / "model.safetensors"), weights, metadata={"format": "mlx"})
    (folder / "config.json").write_text(json.dumps(config))
    extractor = {"feature_extractor_type": "Gemma4AudioFeatureExtractor", "sampling_rate": 16_000}
    (folder / "processor_config.json").write_text(json.dumps({"feature_extractor": extractor}))
    (folder / "chat_template.jinja").write_text(TEMPLATE)
    _tokenizer().save_pretrained(folder)
    return folder


if __name__ == "__main__":
    write(Path(sys.argv[1]))
