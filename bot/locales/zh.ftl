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
stopped-mark = *（到此停止）*
nothing-to-stop = 这里现在没有正在进行的回答。

## 权限

access-refused = 抱歉，这里暂时不对你开放，由机器人的管理者决定。
command-needs-rights = 只有管理这个频道的人才能更改。
access-not-yours = 只有提问的人或管理员才能这样做。
