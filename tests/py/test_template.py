"""Chat templates, held against the package jinja2 as the field sets it up: templates of well-known models, written from their
published form, over conversations; and the language's own rules, case by case."""

import json
import os
import subprocess

import pytest

jinja2 = pytest.importorskip("jinja2")
import jinja2.sandbox
HELPER = os.environ.get("HONE_RENDER", os.path.join(os.environ.get("HONE_BUILD", "build"), "asan/tests/helper/render"))

if not os.path.exists(HELPER):
    pytest.skip("the helper render is not built", allow_module_level=True)

CHATML = ("{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}"
          "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")
SMOLLM = ("{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\nYou are a helpful AI "
          "assistant named SmolLM, trained by Hugging Face<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] "
          "+ '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")
LLAMA2 = """{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}{% set system_message = messages[0]['content'] %}
{%- else %}{% set loop_messages = messages %}{% set system_message = false %}{% endif %}
{%- for message in loop_messages %}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}
        {{- raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}
    {%- endif %}
    {%- if loop.index0 == 0 and system_message != false %}
        {%- set content = '<<SYS>>\\n' + system_message + '\\n<</SYS>>\\n\\n' + message['content'] %}
    {%- else %}
        {%- set content = message['content'] %}
    {%- endif %}
    {%- if message['role'] == 'user' %}
        {{- bos_token + '[INST] ' + content.strip() + ' [/INST]' }}
    {%- elif message['role'] == 'assistant' %}
        {{- ' ' + content.strip() + ' ' + eos_token }}
    {%- endif %}
{%- endfor %}"""
LLAMA3 = ("{% set loop_messages = messages %}{% for message in loop_messages %}{% set content = '<|start_header_id|>' + message['role'] + "
          "'<|end_header_id|>\n\n'+ message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}"
          "{% endif %}{{ content }}{% endfor %}{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}")
LLAMA31 = """{{- bos_token }}
{%- if custom_tools is defined %}
    {%- set tools = custom_tools %}
{%- endif %}
{%- if not tools_in_user_message is defined %}
    {%- set tools_in_user_message = true %}
{%- endif %}
{%- if not date_string is defined %}
    {%- set date_string = "26 Jul 2024" %}
{%- endif %}
{%- if not tools is defined %}
    {%- set tools = none %}
{%- endif %}

{#- This block extracts the system message, so we can slot it into the right place. #}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}

{{- "<|start_header_id|>system<|end_header_id|>\\n\\n" }}
{%- if tools is not none %}
    {{- "Environment: ipython\\n" }}
{%- endif %}
{{- "Cutting Knowledge Date: December 2023\\n" }}
{{- "Today Date: " + date_string + "\\n\\n" }}
{%- if tools is not none and not tools_in_user_message %}
    {{- "You have access to the following functions." }}
    {%- for t in tools %}
        {{- t | tojson(indent=4) }}
        {{- "\\n\\n" }}
    {%- endfor %}
{%- endif %}
{{- system_message }}
{{- "<|eot_id|>" }}

{%- if tools_in_user_message and not tools is none %}
    {%- if messages | length != 0 %}
        {%- set first_user_message = messages[0]['content']|trim %}
        {%- set messages = messages[1:] %}
    {%- else %}
        {{- raise_exception("Cannot put tools in the first user message when there's no first user message!") }}
    {%- endif %}
    {{- '<|start_header_id|>user<|end_header_id|>\\n\\n' -}}
    {{- "Given the following functions, please respond with a JSON for a function call.\\n\\n" }}
    {%- for t in tools %}
        {{- t | tojson(indent=4) }}
        {{- "\\n\\n" }}
    {%- endfor %}
    {{- first_user_message + "<|eot_id|>"}}
{%- endif %}

{%- for message in messages %}
    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + '<|eot_id|>' }}
    {%- elif 'tool_calls' in message %}
        {%- if not message.tool_calls|length == 1 %}
            {{- raise_exception("This model only supports single tool-calls at once!") }}
        {%- endif %}
        {%- set tool_call = message.tool_calls[0].function %}
        {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' -}}
        {{- '{"name": "' + tool_call.name + '", ' }}
        {{- '"parameters": ' }}
        {{- tool_call.arguments | tojson }}
        {{- "}" }}
        {{- "<|eot_id|>" }}
    {%- elif message.role == "tool" or message.role == "ipython" %}
        {{- "<|start_header_id|>ipython<|end_header_id|>\\n\\n" }}
        {%- if message.content is mapping or message.content is iterable and message.content is not string %}
            {{- message.content | tojson }}
        {%- else %}
            {{- message.content }}
        {%- endif %}
        {{- "<|eot_id|>" }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}
"""
QWEN25 = """{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0]['role'] == 'system' %}
        {{- messages[0]['content'] }}
    {%- else %}
        {{- 'You are Qwen, created by Alibaba Cloud. You are a helpful assistant.' }}
    {%- endif %}
    {{- "\\n\\n# Tools\\n\\nYou may call one or more functions to assist with the user query.\\n\\nYou are provided with function signatures within <tools></tools> XML tags:\\n<tools>" }}
    {%- for tool in tools %}
        {{- "\\n" }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- "\\n</tools>\\n\\nFor each function call, return a json object within <tool_call></tool_call> XML tags:\\n<tool_call>\\n{\\"name\\": <function-name>, \\"arguments\\": <args-json-object>}\\n</tool_call><|im_end|>\\n" }}
{%- else %}
    {%- if messages[0]['role'] == 'system' %}
        {{- '<|im_start|>system\\n' + messages[0]['content'] + '<|im_end|>\\n' }}
    {%- else %}
        {{- '<|im_start|>system\\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_end|>\\n' }}
    {%- endif %}
{%- endif %}
{%- for message in messages %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) or (message.role == "assistant" and not message.tool_calls) %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}
    {%- elif message.role == "assistant" %}
        {{- '<|im_start|>' + message.role }}
        {%- if message.content %}
            {{- '\\n' + message.content }}
        {%- endif %}
        {%- for tool_call in message.tool_calls %}
            {%- if tool_call.function is defined %}
                {%- set tool_call = tool_call.function %}
            {%- endif %}
            {{- '\\n<tool_call>\\n{"name": "' }}
            {{- tool_call.name }}
            {{- '", "arguments": ' }}
            {{- tool_call.arguments | tojson }}
            {{- '}\\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\\n' }}
    {%- elif message.role == "tool" %}
        {%- if (loop.index0 == 0) or (messages[loop.index0 - 1].role != "tool") %}
            {{- '<|im_start|>user' }}
        {%- endif %}
        {{- '\\n<tool_response>\\n' }}
        {{- message.content }}
        {{- '\\n</tool_response>' }}
        {%- if loop.last or (messages[loop.index0 + 1].role != "tool") %}
            {{- '<|im_end|>\\n' }}
        {%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
"""
QWEN3 = """{%- set ns = namespace(multi_step_tool=true, last_query_index=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi_step_tool and message.role == "user" and message.content is string and not(message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}
        {%- set ns.multi_step_tool = false %}
        {%- set ns.last_query_index = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.content is string %}
        {%- set content = message.content %}
    {%- else %}
        {%- set content = '' %}
    {%- endif %}
    {%- if message.role == "assistant" %}
        {%- set reasoning_content = '' %}
        {%- if '</think>' in content %}
            {%- set reasoning_content = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
            {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
        {%- endif %}
        {%- if loop.index0 > ns.last_query_index and (loop.last or (not loop.last and reasoning_content)) %}
            {{- '<|im_start|>' + message.role + '\\n<think>\\n' + reasoning_content.strip('\\n') + '\\n</think>\\n\\n' + content.lstrip('\\n') }}
        {%- else %}
            {{- '<|im_start|>' + message.role + '\\n' + content }}
        {%- endif %}
        {{- '<|im_end|>\\n' }}
    {%- else %}
        {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>' + '\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}"""
GEMMA = ("{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}{% for message in messages %}"
         "{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}"
         "{% endif %}{% if (message['role'] == 'assistant') %}{% set role = 'model' %}{% else %}{% set role = message['role'] %}{% endif %}"
         "{{ '<start_of_turn>' + role + '\n' + message['content'] | trim + '<end_of_turn>\n' }}{% endfor %}{% if add_generation_prompt %}"
         "{{'<start_of_turn>model\n'}}{% endif %}")
GEMMA3 = """{{ bos_token }}
{%- if messages[0]['role'] == 'system' -%}
    {%- if messages[0]['content'] is string -%}
        {%- set first_user_prefix = messages[0]['content'] + '

' -%}
    {%- else -%}
        {%- set first_user_prefix = messages[0]['content'][0]['text'] + '

' -%}
    {%- endif -%}
    {%- set loop_messages = messages[1:] -%}
{%- else -%}
    {%- set first_user_prefix = "" -%}
    {%- set loop_messages = messages -%}
{%- endif -%}
{%- for message in loop_messages -%}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) -%}
        {{ raise_exception("Conversation roles must alternate user/assistant/user/assistant/...") }}
    {%- endif -%}
    {%- if (message['role'] == 'assistant') -%}
        {%- set role = "model" -%}
    {%- else -%}
        {%- set role = message['role'] -%}
    {%- endif -%}
    {{ '<start_of_turn>' + role + '
' + (first_user_prefix if loop.first else "") }}
    {%- if message['content'] is string -%}
        {{ message['content'] | trim }}
    {%- elif message['content'] is iterable -%}
        {%- for item in message['content'] -%}
            {%- if item['type'] == 'image' -%}
                {{ '<start_of_image>' }}
            {%- elif item['type'] == 'text' -%}
                {{ item['text'] | trim }}
            {%- endif -%}
        {%- endfor -%}
    {%- else -%}
        {{ raise_exception("Invalid content type") }}
    {%- endif -%}
    {{ '<end_of_turn>
' }}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{'<start_of_turn>model
'}}
{%- endif -%}
"""
MISTRAL = ("{{ bos_token }}{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Conversation roles must "
           "alternate user/assistant/user/assistant/...') }}{% endif %}{% if message['role'] == 'user' %}{{ '[INST] ' + message['content'] + ' [/INST]' }}"
           "{% elif message['role'] == 'assistant' %}{{ message['content'] + eos_token}}{% else %}{{ raise_exception('Only user and assistant roles are "
           "supported!') }}{% endif %}{% endfor %}")
MISTRAL3 = """{%- if messages[0]["role"] == "system" %}
    {%- set system_message = messages[0]["content"] %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set loop_messages = messages %}
{%- endif %}
{%- if not tools is defined %}
    {%- set tools = none %}
{%- endif %}
{%- set user_messages = loop_messages | selectattr("role", "equalto", "user") | list %}
{%- set ns = namespace() %}
{%- set ns.index = 0 %}
{%- for message in loop_messages %}
    {%- if not (message.role == "tool" or message.role == "tool_results" or (message.tool_calls is defined and message.tool_calls is not none)) %}
        {%- if (message["role"] == "user") != (ns.index % 2 == 0) %}
            {{- raise_exception("After the optional system message, conversation roles must alternate user/assistant/user/assistant/...") }}
        {%- endif %}
        {%- set ns.index = ns.index + 1 %}
    {%- endif %}
{%- endfor %}
{{- bos_token }}
{%- for message in loop_messages %}
    {%- if message["role"] == "user" %}
        {%- if tools is not none and (message == user_messages[-1]) %}
            {{- "[AVAILABLE_TOOLS] [" }}
            {%- for tool in tools %}
                {%- set tool = tool.function %}
                {{- '{"type": "function", "function": {' }}
                {%- for key, val in tool.items() if key != "return" %}
                    {%- if val is string %}
                        {{- '"' + key + '": "' + val + '"' }}
                    {%- else %}
                        {{- '"' + key + '": ' + val|tojson }}
                    {%- endif %}
                    {%- if not loop.last %}
                        {{- ", " }}
                    {%- endif %}
                {%- endfor %}
                {{- "}}" }}
                {%- if not loop.last %}
                    {{- ", " }}
                {%- else %}
                    {{- "]" }}
                {%- endif %}
            {%- endfor %}
            {{- "[/AVAILABLE_TOOLS]" }}
            {%- endif %}
        {%- if loop.last and system_message is defined %}
            {{- "[INST] " + system_message + "\\n\\n" + message["content"] + "[/INST]" }}
        {%- else %}
            {{- "[INST] " + message["content"] + "[/INST]" }}
        {%- endif %}
    {%- elif message["role"] == "assistant" %}
        {{- " " + (message["content"] or "")|trim + eos_token}}
    {%- endif %}
{%- endfor %}
"""
PHI3 = ("{% for message in messages %}{% if message['role'] == 'system' %}{{'<|system|>\n' + message['content'] + '<|end|>\n'}}{% elif message['role'] == 'user' %}"
        "{{'<|user|>\n' + message['content'] + '<|end|>\n'}}{% elif message['role'] == 'assistant' %}{{'<|assistant|>\n' + message['content'] + '<|end|>\n'}}"
        "{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% else %}{{ eos_token }}{% endif %}")
ZEPHYR = """{% for message in messages %}
{% if message['role'] == 'user' %}
{{ '<|user|>
' + message['content'] + eos_token }}
{% elif message['role'] == 'system' %}
{{ '<|system|>
' + message['content'] + eos_token }}
{% elif message['role'] == 'assistant' %}
{{ '<|assistant|>
'  + message['content'] + eos_token }}
{% endif %}
{% if loop.last and add_generation_prompt %}
{{ '<|assistant|>' }}
{% endif %}
{% endfor %}"""
DEEPSEEK = ("{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}{% endif %}{{ bos_token }}{% for message in messages %}"
            "{% if message['role'] == 'user' %}{{ 'User: ' + message['content'] + '\n\n' }}{% elif message['role'] == 'assistant' %}{{ 'Assistant: ' + "
            "message['content'] + eos_token }}{% elif message['role'] == 'system' %}{{ message['content'] + '\n\n' }}{% endif %}{% endfor %}"
            "{% if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}")
COMMAND_R = """{{ bos_token }}{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}{% set system_message = messages[0]['content'] %}{% elif false == true %}{% set loop_messages = messages %}{% set system_message = 'You are Command-R.' %}{% else %}{% set loop_messages = messages %}{% set system_message = false %}{% endif %}{% if system_message != false %}{{ '<|START_OF_TURN_TOKEN|><|SYSTEM_TOKEN|>' + system_message + '<|END_OF_TURN_TOKEN|>' }}{% endif %}{% for message in loop_messages %}{% set content = message['content'] %}{% if message['role'] == 'user' %}{{ '<|START_OF_TURN_TOKEN|><|USER_TOKEN|>' + content.strip() + '<|END_OF_TURN_TOKEN|>' }}{% elif message['role'] == 'assistant' %}{{ '<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>'  + content.strip() + '<|END_OF_TURN_TOKEN|>' }}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>' }}{% endif %}"""
GRANITE = """{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content'] %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set system_message = "Knowledge Cutoff Date: April 2024.\\nYou are Granite, developed by IBM." %}
    {%- if tools and documents %}
        {%- set system_message = system_message + " Both." %}
    {%- elif tools %}
        {%- set system_message = system_message + " You are a helpful AI assistant with access to the following tools." %}
    {%- else %}
        {%- set system_message = system_message + " You are a helpful AI assistant." %}
    {%- endif %}
    {%- set loop_messages = messages %}
{%- endif %}
{{- '<|start_of_role|>system<|end_of_role|>' + system_message + '<|end_of_text|>\\n' }}
{%- if tools %}
    {{- '<|start_of_role|>tools<|end_of_role|>' }}
    {{- tools | tojson(indent=4) }}
    {{- '<|end_of_text|>\\n' }}
{%- endif %}
{%- for message in loop_messages %}
    {{- '<|start_of_role|>' + message['role'] + '<|end_of_role|>' + message['content'] + '<|end_of_text|>\\n' }}
    {%- if loop.last and add_generation_prompt %}
        {{- '<|start_of_role|>assistant<|end_of_role|>' }}
    {%- endif %}
{%- endfor %}"""
VICUNA = """{% if messages[0]['role'] == 'system' %}{{ messages[0]['content'] | trim + ' ' }}{% endif %}{% for message in messages if message.role != 'system' %}{% if message.role == 'user' %}{{ 'USER: ' + message.content | trim + ' ' }}{% else %}{{ 'ASSISTANT: ' ~ message.content | trim ~ eos_token }}{% endif %}{% else %}nobody spoke{% endfor %}{% if add_generation_prompt %}{{ 'ASSISTANT:' }}{% endif %}"""
ALPACA = """{%- macro block(title, text='') -%}
### {{ title }}:
{{ text }}

{% endmacro -%}
{% for m in messages %}{{ block({'user': 'Instruction', 'assistant': 'Response'}.get(m.role, m.role | title), text=m.content) }}{% endfor %}{% if add_generation_prompt %}### Response:
{% endif %}"""
FALCON = """{% for message in messages %}{% if not loop.first %}{{ '\n' }}{% endif %}{{ message['role'] | capitalize }}: {{ message['content'] | replace('\r\n', '\n') | replace('\n\n', '\n') }}{% endfor %}{% if add_generation_prompt %}{{ '\nAssistant:' }}{% endif %}"""
OPENCHAT = """{{ bos_token }}{% for message in messages %}{{ 'GPT4 Correct ' + message['role'].title() + ': ' + message['content'] + '<|end_of_turn|>'}}{% endfor %}{% if add_generation_prompt %}{{ 'GPT4 Correct Assistant:' }}{% endif %}"""
SOLAR = """{% for message in messages %}{% if message.role == 'system' %}{% if message.content %}{{ '### System:\n' + message.content + '\n\n' }}{% endif %}{% elif message.role == 'user' %}{{ '### User:\n' + message.content + '\n\n' }}{% else %}{{ '### Assistant:\n' + message.content + '\n\n' }}{% endif %}{% if loop.last and add_generation_prompt %}{{ '### Assistant:\n' }}{% endif %}{% endfor %}"""
HERMES = """{%- macro json_to_python_type(json_spec) %}
{%- set basic_type_map = {"string": "str", "number": "float", "integer": "int", "boolean": "bool"} %}
{%- if basic_type_map[json_spec.type] is defined %}
    {{- basic_type_map[json_spec.type] }}
{%- elif json_spec.type == "array" %}
    {{- "list[" +  json_to_python_type(json_spec|items) + "]" }}
{%- else %}
    {{- "Any" }}
{%- endif %}
{%- endmacro %}
{{- bos_token }}
{%- for tool in tools or [] %}
    {%- set f = tool.function %}
    {{- "def " + f.name + "(" }}
    {%- for name, spec in f.parameters.properties|items %}
        {{- name + ": " + json_to_python_type(spec) }}
        {%- if not loop.last %}{{- ", " }}{%- endif %}
    {%- endfor %}
    {{- ")\\n" }}
{%- endfor %}
{%- for message in messages %}
    {{- '<|im_start|>' ~ message.role ~ '\\n' ~ (message.content if message.content else '') ~ '<|im_end|>\\n' }}
{%- endfor %}"""
TEMPLATES = {k.lower(): v for k, v in list(globals().items()) if k.isupper() and isinstance(v, str) and "{%" in v}

TOOL = {"type": "function", "function": {"name": "weather", "description": "Get \"the\" weather – now", "parameters": {
    "type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}, "what": {"type": "object"}}, "required": ["city"]}}}
CHATS = {
    "one": [("user", "Hi")],
    "turns": [("user", "  What is 2 < 3 & \"x\"?  "), ("assistant", "True\n"), ("user", "Why?\n\n\nünï 🙂")],
    "system": [("system", "You are terse.\n"), ("user", "Hello"), ("assistant", "<think>\nhm\n</think>\n\nYes"), ("user", "And?")],
    "wrong": [("assistant", "I begin"), ("assistant", "and go on")],
}


def environment():
    env = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"])
    env.filters["tojson"] = lambda x, indent=None: json.dumps(x, ensure_ascii=False, indent=indent)

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    env.globals["raise_exception"] = raise_exception
    return env


def theirs(template, context):
    try:
        return environment().from_string(template).render(**context)
    except (jinja2.exceptions.TemplateError, TypeError, ArithmeticError) as e:
        return e


def ours(tmp_path, template, contexts):
    (tmp_path / "t").write_text(template, newline="")
    (tmp_path / "c.json").write_text(json.dumps(contexts))
    got = subprocess.run([HELPER, tmp_path / "t", tmp_path / "c.json"], capture_output=True)
    assert got.returncode == 0, got.stderr.decode()
    texts = got.stdout.decode().split("\0")[:-1]
    assert len(texts) == len(contexts)
    return [t[1:] if t[0] == "+" else RuntimeError(t[1:]) for t in texts]


def both(tmp_path, template, *contexts):
    for context, got in zip(contexts, ours(tmp_path, template, contexts)):
        want = theirs(template, context)
        if isinstance(want, Exception):
            assert isinstance(got, Exception), f"{got!r} instead of {want!r}"
            assert type(want) is not jinja2.exceptions.TemplateError or want.message in str(got)  # of raise_exception
        else:
            assert got == want


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_models_template(tmp_path, name):
    contexts = []
    for chat in CHATS.values():
        for tools in (None, [TOOL, TOOL]):
            for add in (True, False):
                messages = [{"role": r, "content": c} for r, c in chat]
                context = {"messages": messages, "bos_token": "<s>", "eos_token": "</s>", "add_generation_prompt": add}
                contexts.append(context | ({"tools": tools} if tools else {}))
    both(tmp_path, TEMPLATES[name], *contexts)


def test_tool_calls(tmp_path):
    call = {"function": {"name": "weather", "arguments": {"city": "Köln", "days": 2, "deep": [1, 2.5, None, True, {"a": "b"}]}}}
    messages = [{"role": "user", "content": "Weather?"}, {"role": "assistant", "content": "", "tool_calls": [call]},
                {"role": "tool", "content": "rain"}, {"role": "tool", "content": "sun"}, {"role": "assistant", "content": "It rains."}]
    for name in ("llama31", "qwen25"):
        both(tmp_path, TEMPLATES[name], {"messages": messages, "tools": [TOOL], "bos_token": "<s>", "eos_token": "</s>", "add_generation_prompt": True})


RULES = [
    "{{ 7 // 2 }} {{ -7 // 2 }} {{ 7 % 3 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ 2 ** 10 }} {{ 1 + 2 * 3 }} {{ (1 + 2) * 3 }} {{ 2.0 }} {{ 1e3 if 0 else 0.1 }}",
    "{{ 'a' ~ 1 ~ none ~ true ~ 2.5 }} {{ 'ab' * 3 }} {{ [1] + [2, 'x'] }} {{ {'a': 1, 'b': [none, 'it\\'s']} }} {{ (1, 2)[0] }} {{ () | length }}",
    "{{ x is defined }} {{ x }}|{{ 'no' if x is not defined else 1 }} {{ a.b }} {{ a['b'] }} {{ a.c is defined }} {{ list[-1] }} {{ list[9] is defined }}",
    "{{ list[1:] }} {{ list[:-1] }} {{ list[::2] }} {{ list[::-1] }} {{ 'héllo'[1:3] }} {{ 'héllo'[::-1] }} {{ 'héllo' | length }} {{ list[-2:] }} {{ list[5:] }}",
    "{{ 1 < 2 }} {{ 'a' < 'b' }} {{ [1, 2] < [1, 3] }} {{ 1 == 1.0 }} {{ 'a' == 1 }} {{ 1 in [1] }} {{ 'b' not in 'abc' }} {{ 'b' in a }} {{ not 1 == 2 }}",
    "{{ 1 and 0 }} {{ 0 or 'x' }} {{ '' or none or 5 }} {{ true and 'y' }} {{ not '' }} {{ 'yes' if list else 'no' }} {{ 'q' if 0 }}|",
    "{% for x in list %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.previtem }}{{ loop.nextitem }};{% endfor %}",
    "{% for k, v in a.items() %}{{ k }}={{ v }},{% endfor %}{% for k in a %}{{ k }}{% endfor %}{{ a.keys() | list }}{{ a.values() | list }}{{ a.get('z', 3) }}{{ a.get('q') }}",
    "{% for x in [1, 2, 3, 4, 5] if x % 2 %}{% if x == 5 %}{% break %}{% endif %}{% if x == 1 %}{% continue %}{% endif %}{{ x }}{% endfor %}",
    "{% for x in [] %}x{% else %}none{% endfor %}{% set n = namespace(i=0) %}{% for x in list %}{% set n.i = n.i + x %}{% set y = x %}{% endfor %}{{ n.i }}{{ y is defined }}",
    "{% set x = 1 %}{% if true %}{% set x = 2 %}{% endif %}{{ x }}{% set a1, b1 = 3, 4 %}{{ a1 + b1 }}{% set block %}in {{ x }}{% endset %}{{ block }}",
    "{% macro f(a, b=2) %}{{ a }}-{{ b }}{% endmacro %}{{ f(1) }} {{ f(1, 3) }} {{ f(b=5, a=4) }}{% set g = f(9) %}{{ g | length }}",
    "a\n  {% if true %}\n  b\n  {% endif %}\nc\n{# x #}\nd {{- 1 -}} \n e\n{%- if 1 %} f {%- endif %}\n\n",
    "  {%+ if true %}x{% endif %}\n\t{% set z = 1 %}\n\nend{{ '\n' }}\n",
    "{{ ' x ' | trim }}|{{ 'xxaxx'.strip('x') }}|{{ 'aXb' | upper }}{{ 'aXb' | lower }}{{ 'hello world' | title }}{{ 'hELLO' | capitalize }}|{{ 'a,b,,c'.split(',') }}{{ ' a  b '.split() }}",
    "{{ 'a b c'.split(' ', 1) }}{{ 'abcabc' | replace('b', 'X') }}{{ 'abcabc'.replace('b', 'X', 1) }}{{ 'abc'.startswith('ab') }}{{ 'abc'.endswith(('x', 'c')) }}{{ 'abc'.find('c') }}",
    "{{ ['a', 'b'] | join('-') }}{{ '-'.join(['x', 'y']) }}{{ list | first }}{{ list | last }}{{ list | reverse | list }}{{ [3, 1, 2] | sort }}{{ ['b', 'A'] | unique | list }}",
    "{{ rows | map(attribute='n') | list }}{{ rows | selectattr('n', 'gt', 1) | map(attribute='s') | join(',') }}{{ rows | rejectattr('s') | list | length }}{{ [0, 1, ''] | select | list }}",
    "{{ ['a', 'b'] | map('upper') | list }}{{ [1, 2, 3] | sum }}{{ [1, 5, 2] | max }}{{ a | dictsort }}{{ rows | selectattr('s', 'defined') | list | length }}",
    "{{ list | tojson }}{{ a | tojson }}{{ rows | tojson(indent=2) }}{{ 'x\"\\n<>é' | tojson }}{{ [] | tojson(indent=4) }}{{ none | tojson }}{{ 1.5 | tojson }}",
    "{{ undefined_name | default('d') }}{{ '' | default('e', true) }}{{ 3 | default(4) }}{{ '12' | int + 1 }}{{ 'x' | int }}{{ '1.5' | float }}{{ 3 | string + 'x' }}",
    "{{ 'a\nb\n\nc' | indent(2) }}|{{ 'a\nb' | indent(2, true) }}|{{ 'a\nb\n'.splitlines() }}{{ -3 | abs }}{{ 2.567 | round(1) }}{{ range(3) | list }}{{ range(5, 0, -2) | list }}",
    "{{ 1 is number }}{{ 'a' is string }}{{ a is mapping }}{{ list is iterable }}{{ none is none }}{{ 1 is odd }}{{ 2 is even }}{{ true is true }}{{ 1 is not string }}{{ 6 is divisibleby 3 }}{{ 1 is in [1] }}",
    "{{ 'a' 'b' }}{{ \"\\t\\\"q\\\"\" }}{{ 'it' 's' }}{{ - 3 + 5 }}{{ 10 - 2 - 3 }}{{ 2 * 3 % 4 }}{{ 'x' ~ 1 + 2 }}{{ 1 if false else 2 if false else 3 }}",
    "{% raw %}{{ not rendered }}{% endraw %}{{ '{{' }}{# {{ no }} #}{{ '}}' }}",
    "{% if a.b == 1 and (list | length) > 2 or false %}yes{% elif true %}other{% else %}no{% endif %}{{ a.b if a.b else 'z' }}",
    "{{ undefined_name.x }}", "{{ none.x }}", "{{ raise_exception('told so') }}", "{{ 1 + 'a' }}", "{% for %}", "{% if 1 %}", "{{ 1", "{{ f(1) }}", "{% bogus %}", "{{ x | bogus }}", "{{ [1,2 }}", "{{ 1 / 0 }}",
]


@pytest.mark.parametrize("template", RULES)
def test_a_rule(tmp_path, template):
    context = {"a": {"b": 1, "c2": "two"}, "list": [1, 2, 3], "rows": [{"n": 1, "s": "x"}, {"n": 2, "s": ""}, {"n": 3, "s": "z"}]}
    both(tmp_path, template, context)


def test_templates_that_never_end(tmp_path):
    loops = "{% for a in range(1000000) %}{% for b in range(1000000) %}{% endfor %}{% endfor %}"
    grows = "{% set n = namespace(s='x') %}{% for a in range(100000) %}{% set n.s = n.s + n.s %}{% endfor %}"
    recursion = "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}"
    for template in (loops, grows, recursion, "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}", "{% if 1 %}" * 3000):
        got = ours(tmp_path, template, [{}])[0]
        assert isinstance(got, RuntimeError) and "chat template" in str(got)


SELF = "{% set n = namespace() %}{% set n.me = n %}"
NESTED = "{% set n = namespace(x=1) %}{% for a in range(2000) %}{% set n.x = [n.x] %}{% endfor %}"


@pytest.mark.parametrize("template", [
    SELF + "{{ n }}", SELF + "{{ n == n }}", SELF + "{{ n | tojson }}", NESTED + "{{ n.x }}", NESTED + "{{ n.x | tojson }}",
    NESTED + "{{ n.x == n.x }}", NESTED + "{{ n.x < n.x }}", "{{ 1" + " + 1" * 5000 + " }}", "{{ x" + ".a" * 5000 + " }}", "{{ 1" + " | int" * 5000 + " }}",
    "{{ " + "not " * 5000 + "1 }}", "{{ " + "-" * 5000 + "1 }}", "{% if 1 %}" + "{% elif 1 %}" * 5000 + "{% endif %}",
    "{% macro f() %}{{ " + "[" * 90 + "f()" + "]" * 90 + " }}{% endmacro %}{{ f() }}"])
def test_what_is_too_deep(tmp_path, template):
    got = ours(tmp_path, template, [{}])[0]
    assert isinstance(got, RuntimeError) and "chat template" in str(got)


def test_numbers_at_the_ends_of_64_bits(tmp_path):
    low = "(-9223372036854775807 - 1)"
    for text, want in (("{{ LOW % -1 }} {{ 9223372036854775806 % 9223372036854775807 }} {{ LOW is divisibleby(-1) }}", "0 9223372036854775806 True"),
                       ("{{ 7 % -3 }} {{ -7 % 3 }} {{ 7 // -1 }} {{ (LOW // -1) > 9e18 }}", "-2 2 -7 True"),
                       ("{{ range(9223372036854775807, LOW, LOW) | length }} {{ [1, 2, 3][::9223372036854775807] }} {{ [1, 2, 3][::LOW] }}", "2 [1] [3]"),
                       ("{{ range(9223372036854775807) }}", None)):
        got = ours(tmp_path, text.replace("LOW", low), [{}])[0]
        assert isinstance(got, RuntimeError) if want is None else got == want
