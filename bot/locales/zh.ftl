# Familiar 自己说的话，中文版。消息的 id 用 kebab-case，每一节属于代码的一个部分。
# 这里的 id 和花括号里的变量必须与本目录其他 .ftl 文件一致，测试会逐条比对。

## 没能给出的回答

model-failed = 刚才回答的时候出了点问题。请再试一次，或者发送 /retry。
model-unreachable = 我现在连不上语言模型，请过一会儿再试。
model-refused = 语言模型拒绝了这次请求，所以这回没有答案。原因在日志里，机器人的管理者可以看到。
model-too-long = 内容太长，语言模型一次读不完。请说短一点，或者用 /reset 重新开始。
model-filtered = 模型服务商不愿回答这个问题。换个说法试试？
model-empty = 模型这次什么也没说。发送 /retry 可以让它再试一回。
error-internal = 我这边出了故障，已经记在日志里。请再试一次。

## 停止

stopped = 已停止。
nothing-to-stop = 这里现在没有正在进行的回答。

## 权限

access-refused = 抱歉，这里暂时不对你开放，由机器人的管理者决定。
command-needs-rights = 只有管理这个频道的人才能更改。
access-not-yours = 只有提问的人或管理员才能这样做。

## 命令：写法

command-gone = 这个命令已经不存在了。发送 /help 看看现在有哪些。
command-unknown = 我不认识这个命令。发送 /help 看看有哪些。
command-left-over = 不明白“{ $word }”是什么意思。用 `/help { $command }` 看看写法。
command-flag-unknown = `/{ $command }` 没有“{ $flag }”这个选项。用 `/help { $command }` 看看有哪些。
command-flag-needs-value = “{ $flag }”后面还缺一个值。用 `/help { $command }` 看看写法。
command-option-missing = 缺少 { $option }。用 `/help { $command }` 看看写法。
command-option-number = { $option } 应该是数字，而不是“{ $value }”。
command-option-choice = { $option } 可以是 { $choices }，不能是“{ $value }”。
quota-exceeded = 一下子太多啦！请歇一分钟再继续。
page-of = 第 { $page } 页，共 { $pages } 页。用 -p 翻页。
value-empty = 空

## 命令：各自的用途，最多 100 个字符

command-persona = 谁在这里说话
command-persona-list = 列出或搜索角色
command-persona-use = 换一个角色在这里说话
command-persona-info = 介绍一个角色
command-model = 这里由哪个语言模型回答
command-model-list = 列出或搜索模型
command-model-use = 换一个模型在这里回答
command-model-info = 介绍正在使用的模型
command-session = 这里的设置
command-session-show = 显示这里的设置，以及每个值的来源
command-session-set = 更改这里、所属频道或整个群组的设置
command-session-reset = 恢复为继承的值
command-reset = 开始新的对话，旧对话会保留
command-retry = 重新回答上一条消息
command-undo = 撤回上一条消息和它的回答
command-continue = 接着上一个回答往下说
command-stop = 停止正在写的回答
command-status = 这里的当前状态
command-help = 我是什么，能做什么
command-start = 打个招呼

## 命令：选项，最多 100 个字符

option-keyword = 要搜索的词
option-page = 第几页，从 1 开始
option-persona = 角色，写名字或 id
option-model = 模型，写作 服务商/模型
option-thinking = 回答前先思考
option-name = 这个会话在列表里的名字
option-key = 设置项，例如 timezone 或 activation
option-value = 新的值
option-for = 对谁生效：这里、子区所属的频道，或整个群组
option-command = 要说明的命令
option-payload = 链接可能带来的内容，不用填写

## 角色

persona-list = 角色（{ $count }）。用 `/persona use 名字` 让其中一个在这里说话。
persona-none-found = 没有与“{ $keyword }”相符的角色。相近的有：{ $near }。发送 /persona 查看全部。
persona-unknown = 我不认识角色“{ $persona }”。你是不是想说 { $near }？发送 /persona 查看全部。
persona-ambiguous = 不止一个角色叫“{ $persona }”，请用 id 指定：{ $ids }。
persona-speaks = 从现在起，由 **{ $persona }** 在这里说话。
persona-nobody = 这里没有角色：我以自己的身份直接回答。
persona-none = 无
persona-info-language = 语言：{ $value }
persona-info-tags = 标签：{ $value }
persona-info-creator = 作者：{ $value }
persona-info-version = 版本：{ $value }

## 模型

model-list = 模型（{ $count }）。用 `/model use 名字` 让其中一个在这里回答。
model-none-found = 没有名字里带“{ $keyword }”的模型。发送 /model 查看全部。
model-unknown = 找不到模型“{ $model }”。相近的有：{ $near }。发送 /model 查看全部。
model-provider-unknown = 没有叫“{ $provider }”的模型服务商。现有：{ $providers }。
model-answers = 从现在起，由 **{ $model }** 在这里回答。
model-info = 这里由 **{ $model }** 回答（{ $source }）。
model-info-window = 一次最多能读 { $window } 个 token。
model-info-abilities = 它能：{ $abilities }。
model-can-vision = 看图片
model-can-thinking = 先思考再回答
model-can-tools = 使用工具
model-length = 模型还没开口就用完了篇幅。发送 /retry 可以让它再试一回。

## 会话

source-session = 本会话
source-parent = 子区所属的频道
source-place = 整个群组
source-profile = 本平台
source-card = 角色卡
source-default = 默认
session-named = 会话 **{ $name }**
session-unnamed = 本会话
session-model = 模型：**{ $value }**（{ $source }）
session-persona = 角色：**{ $value }**（{ $source }）
session-thinking = 思考：**{ $value }**（{ $source }）
session-changed = 改动过的设置，靠前的优先：
session-set-session = 已为本会话设置：
session-set-parent = 已为子区所属的频道设置：
session-set-place = 已为整个群组设置：
session-name-set = 名字 = { $name }
session-name-gone = 名字已去掉
session-masked = `{ $key }` 在这里仍是另一个值：{ $source }的优先。
session-reset-done = 已恢复继承。在这里现在是：
session-set-nothing = 要设置什么？例如 `/session set -p luna -t on` 或 `/session set timezone Asia/Shanghai`。
session-name-is-here = 名字只属于这一个会话，请去掉 --for，或者去掉名字。
session-value-missing = 请给 `{ $key }` 一个值：`/session set { $key } 值`。要恢复继承，用 `/session reset { $key }`。
session-key-missing = 哪个设置要改成“{ $value }”？请把设置项也写上。
session-key-unknown = 没有叫“{ $key }”的设置。相近的有：{ $near }。
session-value-choice = `{ $key }` 可以是 { $choices }，不能是“{ $value }”。
session-value-whole = `{ $key }` 应该是不小于 { $low } 的整数，而不是“{ $value }”。
session-value-number = `{ $key }` 应该是不小于 { $low } 的数，而不是“{ $value }”。
session-value-between = `{ $key }` 应该是 { $low } 到 { $high } 之间的数，而不是“{ $value }”。
session-value-zone = 我不认识时区“{ $value }”。请用 IANA 名称，例如 { $near }。
session-trigger-unsound = 触发类型 { $type } 与值 { $value } 不相配：token_ratio 取 0 到 1，其余取不小于 1 的整数。请先把 summary.trigger.type 设为 auto，再设值，最后设类型。
session-budget = 这样留给提示词的空间太小：{ $window } − 回答 { $reserve } − 余量 { $margin } = { $budget } 个 token，至少需要 { $least } 个。请调大 context_tokens、调小 max_output_tokens，或换更大的模型。

## 对话

reset-done = 翻开新的一页。旧对话会保留，但我在这里不会再回头看它。
undo-done = 已撤回：那条消息和它的回答都不再算数。
nothing-to-retry = 这里没有可以重新回答的内容。
nothing-to-undo = 这里没有可以撤回的内容。
nothing-to-continue = 这里没有可以接着说的回答。
answer-is-running = 我还在回答。请等我说完，或先发送 /stop。
answer-in-memory = 那个回答已经进入我的记忆。用 /memory undo 可以把它取回来。
answer-has-changed = 这里刚刚有了变化。看一看，再试一次。
status-persona = **{ $persona }** 在这里说话。
status-nobody = 这里没有角色。
status-model = 模型：{ $model }
status-running = 我正在回答，后面还有 { $waiting } 个在等。
status-idle = 现在没有正在进行的回答。
status-answer-none = 这次对话还没有回答。
status-answer-sending = 上一个回答正在发送。
status-answer-sent = 上一个回答已送达。
status-answer-uncertain = 不确定上一个回答是否送达。用 /retry 可以再发一次。
status-answer-failed = 上一个回答没能送到。用 /retry 再试一次。
status-messages = 我眼前逐字保留的消息：{ $count } 条。

## 帮助

help-introduction = 我是一个替角色说话的机器人，在这里是 **{ $persona }**。我会跟着对话走，并且记住它。
help-introduction-nobody = 我是一个可以聊天的机器人。我会跟着对话走，并且记住它。
help-address-dm = 在这里直接写给我就行。
help-address-mention = 提及我、回复我或叫我的名字，我就会回答；其余的我只是听着。
help-address-always = 在这里，每条消息我都会回答。
help-address-keyword = 提及我、回复我、叫我的名字，或者说出这些词之一：{ $keywords }。
help-address-random = 提及我、回复我或叫我的名字，我就会回答；偶尔我也会主动插话。
help-more = 用 `/help 命令` 查看某个命令的写法。
help-unknown = 我不认识命令“{ $command }”。相近的有：{ $near }。
start-hello = 又见面了！直接写给我就行。发送 /help 看看我还能做什么。
