#version 330 core
flat in vec3 line_p;
flat in vec3 line_q;
flat in vec3 line_w;
flat in uvec4 tint;
flat in vec4 face;
uniform vec4 lens;
out vec4 color;

void main() {
    float row = gl_FragCoord.y - face.x;
    float column = gl_FragCoord.x - 0.5;
    float w = line_w.x + line_w.y * row + line_w.z * column;
    float inverse = 1.0 / w;
    float u = (line_p.x + line_p.y * row + line_p.z * column) * inverse;
    float v = (line_q.x + line_q.y * row + line_q.z * column) * inverse;
    float depth = face.y * inverse;
    float off = max(abs(u), abs(v));
    if (!(w > 0.0 && off <= face.w && depth >= lens.y && depth <= lens.z)) discard;
    float in_cell = max(abs(u - floor(u + 0.5)), abs(v - floor(v + 0.5)));
    uvec2 pair = off <= 5.5 ? tint.xy : tint.zw;
    uint code = in_cell <= face.z ? pair.x : pair.y;
    color = vec4(code & 255u, code >> 8 & 255u, code >> 16 & 255u, 255u) / 255.0;
}
