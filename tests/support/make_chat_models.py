"""Write tiny audio chat models with random weights, as Hugging Face folders: `python make_chat_models.py OUT`.

They load through the same classes as the real ones and take audio; what they answer is noise, always the same for a seed.
Needs torch and transformers. Each folder is about 1 MB.
"""

import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    GlmAsrConfig,
    GlmAsrForConditionalGeneration,
    GlmAsrProcessor,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    Qwen2AudioConfig,
    Qwen2AudioForConditionalGeneration,
    Qwen2AudioProcessor,
    WhisperFeatureExtractor,
)

SPECIAL = ("<|pad|>", "<|im_start|>", "<|im_end|>", "<|AUDIO|>", "<|audio_bos|>", "<|audio_eos|>")
PAD, END, AUDIO = 0, 2, 3
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}"
    "{% for part in message['content'] %}"
    "{% if part['type'] == 'audio' %}<|audio_bos|><|AUDIO|><|audio_eos|>"
    "{% else %}{{ part['text'] }}{% endif %}{% endfor %}{% endif %}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
MEL_BINS = 16
WIDTH = 32


def tokenizer() -> PreTrainedTokenizerFast:
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
        additional_special_tokens=[SPECIAL[1], *SPECIAL[AUDIO:]],
        chat_template=TEMPLATE,
    )


def text_config() -> dict[str, object]:
    """A language model of two small layers."""
    return {
        "hidden_size": WIDTH,
        "intermediate_size": 2 * WIDTH,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "vocab_size": len(tokenizer()),
        "max_position_embeddings": 2048,
        "pad_token_id": PAD,
        "bos_token_id": None,
        "eos_token_id": END,
    }


def qwen2_audio(folder: Path) -> None:
    """A Qwen2Audio: Whisper encoder, Qwen2."""
    torch.manual_seed(20261130)
    encoder = {
        "d_model": WIDTH,
        "encoder_layers": 2,
        "encoder_attention_heads": 4,
        "encoder_ffn_dim": 2 * WIDTH,
        "num_mel_bins": MEL_BINS,
    }
    config = Qwen2AudioConfig(
        audio_config={"model_type": "qwen2_audio_encoder", **encoder},
        text_config={"model_type": "qwen2", **text_config()},
        audio_token_index=AUDIO,
    )
    model = Qwen2AudioForConditionalGeneration(config)
    model.generation_config.eos_token_id, model.generation_config.pad_token_id = END, PAD
    model.save_pretrained(folder)
    extractor = WhisperFeatureExtractor(feature_size=MEL_BINS)
    Qwen2AudioProcessor(extractor, tokenizer(), chat_template=TEMPLATE, audio_token=SPECIAL[AUDIO]).save_pretrained(
        folder
    )


def glm_asr(folder: Path) -> None:
    """A GlmAsr: encoder with rotary positions, Llama."""
    torch.manual_seed(20261130)
    encoder = {
        "hidden_size": WIDTH,
        "intermediate_size": 4 * WIDTH,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_mel_bins": MEL_BINS,
    }
    config = GlmAsrConfig(
        audio_config={"model_type": "glmasr_encoder", **encoder},
        text_config={"model_type": "llama", **text_config()},
        audio_token_id=AUDIO,
    )
    model = GlmAsrForConditionalGeneration(config)
    model.generation_config.eos_token_id, model.generation_config.pad_token_id = END, PAD
    model.save_pretrained(folder)
    extractor = WhisperFeatureExtractor(feature_size=MEL_BINS)
    GlmAsrProcessor(extractor, tokenizer(), chat_template=TEMPLATE, audio_token=SPECIAL[AUDIO]).save_pretrained(folder)


def llama(folder: Path) -> None:
    """A Llama that reads text only."""
    torch.manual_seed(20261130)
    LlamaForCausalLM(LlamaConfig(**text_config())).save_pretrained(folder)
    tokenizer().save_pretrained(folder)


MAKERS = {"qwen2_audio": qwen2_audio, "glm_asr": glm_asr, "llama": llama}
"""Name of a folder -> what writes it."""


if __name__ == "__main__":
    for name, make in MAKERS.items():
        make(Path(sys.argv[1]) / name)
